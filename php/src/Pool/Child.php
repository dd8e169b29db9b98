<?php

declare(strict_types=1);

namespace Stampede\Worker\Pool;

/** A process of a pool, as its master knows it. */
final class Child
{
    public bool $ready = false;
    public bool $leaving = false;
    /** Why it could not boot, or go on. */
    public string $why = '';

    public function __construct(public int $pid, public Line $line)
    {
    }
}
