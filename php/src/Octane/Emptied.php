<?php

declare(strict_types=1);

namespace Stampede\Worker\Octane;

/** The last thing that was put into a request's container: it goes when that is emptied, and says so. */
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
