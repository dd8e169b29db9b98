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
            $kind = get_class($error);
            $place = "{$error->getFile()}:{$error->getLine()}";
            self::say("stampede: the worker ends: $kind: {$error->getMessage()} in $place");

            return 1;
        }

        return 0;
    }

    /** A line on standard error, which `STDERR` names in the CLI only. */
    public static function say(string $line): void
    {
        file_put_contents('php://stderr', "$line\n");
    }
}
