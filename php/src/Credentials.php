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
            [$user, $password] = explode(':', $decoded, 2) + ['', null];

            return match ($password) {
                null => [],
                '' => ['PHP_AUTH_USER' => $user],
                default => ['PHP_AUTH_USER' => $user, 'PHP_AUTH_PW' => $password],
            };
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
