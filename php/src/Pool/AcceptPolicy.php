<?php

declare(strict_types=1);

namespace Stampede\Worker\Pool;

/**
 * Decides how long a process leaves a new connection to other processes. A new connection wakes them
 * all, and often the same one would be first: it might get all of four kept connections. So a
 * process with open connections waits a little for those that have fewer.
 */
final class AcceptPolicy
{
    /** Seconds of waiting for each open connection: more than a process takes to wake. */
    private const DELAY_PER_CONNECTION = 0.0005;
    /** Open connections beyond this number do not make the wait longer. */
    private const MAX_COUNTED = 8;

    /**
     * The most connections of one process: `select` has 1024 descriptors, and some are needed for
     * other things. With more connections, loops spin and fill the log. So further ones wait in the
     * queue.
     */
    public const MAX_CONNECTIONS = 1000;

    public static function delay(int $open): float
    {
        return self::DELAY_PER_CONNECTION * min($open, self::MAX_COUNTED);
    }
}
