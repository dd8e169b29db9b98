<?php

declare(strict_types=1);

namespace App;

use PDO;

/** Teas of today and of former days, in a database on a server. */
final class Shop
{
    private static ?PDO $db = null;

    public static function tea(): string
    {
        return (string) self::db()->query('SELECT name FROM teas')->fetchColumn();
    }

    public static function archive(): string
    {
        self::db()->exec('SET search_path TO archive');

        return self::tea();
    }

    private static function db(): PDO
    {
        return self::$db ??= new PDO((string) getenv('DATABASE_DSN'));
    }
}
