<?php

declare(strict_types=1);

namespace Stampede\Worker;

/** Ends a worker that cannot begin or cannot go on. */
final class Ends
{
    /**
     * Runs `$work` and reports its exception, if any, as a line on standard error.
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

    /** Writes a line to standard error. The constant `STDERR` exists in the CLI only. */
    public static function say(string $line): void
    {
        file_put_contents('php://stderr', "$line\n");
    }

    /** Writes the last line of a worker. */
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
