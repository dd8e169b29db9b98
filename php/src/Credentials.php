<?php

declare(strict_types=1);

namespace Stampede\Worker;

/** Turns the header `Authorization` into what PHP makes of it: `PHP_AUTH_USER` and the like. */
final class Credentials
{
    /** @return array<string, string> entries of `$_SERVER` */
    public static function variables(string $authorization): array
    {
        if (strncasecmp($authorization, 'Basic ', 6) === 0) {
            $decoded = self::untilNul((string) base64_decode(substr($authorization, 6)));
            $parts = explode(':', $decoded, 2);
            if (!isset($parts[1])) {
                return [];
            }
            $variables = ['PHP_AUTH_USER' => $parts[0]];

            return $parts[1] === '' ? $variables : $variables + ['PHP_AUTH_PW' => $parts[1]];
        }
        if (strncasecmp($authorization, 'Digest ', 7) === 0) {
            return ['PHP_AUTH_DIGEST' => substr($authorization, 7)];
        }

        return [];
    }

    /** PHP reads the decoded text as a C string. */
    private static function untilNul(string $text): string
    {
        return explode("\0", $text, 2)[0];
    }
}
