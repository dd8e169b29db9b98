<?php

declare(strict_types=1);

namespace App;

/** Counts what is searched for. Also has a cache that fills once, which is allowed. */
final class Searches
{
    private static string $marks = '';
    /** @var array<int, string> */
    private static array $menu = [];

    public static function count(): string
    {
        self::$marks .= '.';

        return 'Nothing found.';
    }

    public static function menu(): string
    {
        for ($i = 0; $i < 200; $i++) {
            self::$menu[$i] ??= "Entry $i";
        }

        return count(self::$menu) . ' entries.';
    }
}
