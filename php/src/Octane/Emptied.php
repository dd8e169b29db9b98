<?php

declare(strict_types=1);

namespace Stampede\Worker\Octane;

/** Calls a function when a request's container is emptied: it was the last thing put into it. */
final class Emptied
{
    /** @param \Closure(): void $then */
    public function __construct(private readonly \Closure $then)
    {
    }

    public function __destruct()
    {
        ($this->then)();
    }
}
