<?php

declare(strict_types=1);

namespace Stampede\Worker\Octane;

/** Calls a function when a request's container is emptied: it was the last thing put into it. */
final class DestructorCallback
{
    /** @param \Closure(): void $callback */
    public function __construct(private readonly \Closure $callback)
    {
    }

    public function __destruct()
    {
        ($this->callback)();
    }
}
