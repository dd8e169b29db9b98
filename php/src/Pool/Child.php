<?php

declare(strict_types=1);

namespace Stampede\Worker\Pool;

/** A process of a pool, as seen by its master. */
final class Child
{
    public bool $ready = false;
    public bool $leaving = false;
    /** Why the process could not boot or could not go on; empty while it can. */
    public string $failure = '';

    public function __construct(public int $pid, public MasterChannel $channel)
    {
    }
}
