<?php

declare(strict_types=1);

namespace Stampede\Worker;

/**
 * Parses the header `Cookie` as PHP does for `$_COOKIE`: names are not decoded, in values only `%XX`
 * is, a cookie without `=` is empty, and the first of two with the same name stays.
 */
final class Cookies
{
    /** @return array<mixed> as in `$_COOKIE` */
    public static function parse(string $header): array
    {
        $pairs = [];
        $known = [];
        foreach (explode(';', $header) as $cookie) {
            [$name, $value] = explode('=', $cookie, 2) + ['', ''];
            $name = ltrim($name, " \t\n\r\v\f");
            $pair = urlencode($name) . '=' . urlencode(rawurldecode($value));
            $alone = Query::parse($pair);
            $key = array_key_first($alone);
            if ($key === null || (isset($known[$key]) && !is_array($alone[$key]))) {
                continue;
            }
            $known[$key] = true;
            $pairs[] = $pair;
        }
        return Query::parse(implode('&', $pairs));
    }
}
