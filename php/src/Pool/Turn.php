<?php

declare(strict_types=1);

namespace Stampede\Worker\Pool;

/**
 * How long a process leaves a new connection to others. They all wake for it, and who is first
 * would often be the same one: of four kept connections all may be its. So one that has some open
 * waits a little for those that have fewer.
 */
final class Turn
{
    /** Seconds for each that is open: more than a process takes to wake. */
    private const EACH = 0.0005;
    /** Connections from which on it makes no difference. */
    private const MANY = 8;

    /**
     * Connections of a process: `select` has 1024 descriptors, and a few are others. Where there
     * are more, loops spin and fill the log; so they wait in the port's queue instead.
     */
    public const MOST = 1000;

    public static function wait(int $open): float
    {
        return self::EACH * min($open, self::MANY);
    }
}
