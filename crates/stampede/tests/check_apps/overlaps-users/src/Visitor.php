<?php

declare(strict_types=1);

namespace App;

/** The user who looks at the page. */
final class Visitor
{
    private static string $user = '';

    public static function greeted(string $user): string
    {
        self::$user = $user;
        Elsewhere::wait(0.05);
        $greeted = 'You are ' . htmlspecialchars(self::$user);
        self::$user = '';

        return $greeted;
    }
}
