<?php

declare(strict_types=1);

namespace App;

/** The user who looks at the pages. */
final class Visitor
{
    private static ?string $user = null;

    public static function named(string $user): string
    {
        return self::$user ??= $user;
    }
}
