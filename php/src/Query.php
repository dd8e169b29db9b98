<?php

declare(strict_types=1);

namespace Stampede\Worker;

/** Parses pairs of names and values as PHP does for `$_GET`. */
final class Query
{
    /** @return array<mixed> */
    public static function parse(string $text): array
    {
        // PHP warns of more than `max_input_vars`. Under PHP-FPM it does so before the app begins, so
        // that a handler of the app never hears of it.
        set_error_handler(static fn (): bool => false);
        parse_str($text, $parsed);
        restore_error_handler();

        return $parsed;
    }
}
