<?php

declare(strict_types=1);

namespace Stampede\Worker;

/** How a worker that cannot begin, or cannot go on, ends. */
final class Ends
{
    /**
     * Runs `$work`; what it throws is a line on standard error.
     *
     * @return int exit code of the worker
     */
    public static function well(callable $work): int
    {
        try {
            $work();
        } catch (\Throwable $error) {
            self::lastly(self::why($error));

            return 1;
        }

        return 0;
    }

    /** A line on standard error, which `STDERR` names in the CLI only. */
    public static function say(string $line): void
    {
        file_put_contents('php://stderr', "$line\n");
    }

    /** The last line of a worker. */
    public static function lastly(string $why): void
    {
        self::say("stampede: the worker ends: $why");
    }

    public static function why(\Throwable $error): string
    {
        $kind = get_class($error);

        return "$kind: {$error->getMessage()} in {$error->getFile()}:{$error->getLine()}";
    }
}
