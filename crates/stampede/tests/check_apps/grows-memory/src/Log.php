<?php

declare(strict_types=1);

namespace App;

/** Collects lines to write at the end of the process. In a worker that end never comes. */
final class Log
{
    /** @var list<string> */
    private static array $lines = [];

    public static function keep(string $line): string
    {
        self::$lines[] = $line;

        return '';
    }
}
