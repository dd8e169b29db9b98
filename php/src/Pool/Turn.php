<?php

declare(strict_types=1);

namespace Stampede\Worker\Pool;

/**
 * Tells how long a process leaves a new connection to other processes. A new connection wakes them
 * all, and often the same one would be first: it might get all of four kept connections. So a
 * process with open connections waits a little for those that have fewer.
 */
final class Turn
{
    /** Seconds of waiting for each open connection: more than a process takes to wake. */
    private const EACH = 0.0005;
    /** Open connections beyond this number do not make the wait longer. */
    private const MANY = 8;

    /**
     * The most connections of one process: `select` has 1024 descriptors, and some are needed for
     * other things. With more connections, loops spin and fill the log. So further ones wait in the
     * queue.
     */
    public const MOST = 1000;

    public static function wait(int $open): float
    {
        return self::EACH * min($open, self::MANY);
    }
}
