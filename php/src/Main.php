<?php

declare(strict_types=1);

namespace Stampede\Worker;

/** The main function of a worker script: it logs why a worker cannot begin or cannot go on. */
final class Main
{
    /**
     * Runs `$work` and reports its exception, if any, as a line on standard error.
     *
     * @return int exit code of the worker
     */
    public static function run(callable $work): int
    {
        try {
            $work();
        } catch (\Throwable $error) {
            self::logFatal(self::describe($error));

            return 1;
        }

        return 0;
    }

    /** Writes a line to standard error. The constant `STDERR` exists in the CLI only. */
    public static function log(string $line): void
    {
        file_put_contents('php://stderr', "$line\n");
    }

    /** Writes the last line of a worker. */
    public static function logFatal(string $why): void
    {
        self::log("stampede: the worker ends: $why");
    }

    public static function describe(\Throwable $error): string
    {
        $kind = get_class($error);

        return "$kind: {$error->getMessage()} in {$error->getFile()}:{$error->getLine()}";
    }
}
