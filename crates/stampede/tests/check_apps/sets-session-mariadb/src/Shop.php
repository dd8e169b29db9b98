<?php

declare(strict_types=1);

namespace App;

use PDO;

/** Teas in a database on a server. */
final class Shop
{
    private static ?PDO $db = null;

    public static function takes(string $name): bool
    {
        self::db()->beginTransaction();
        try {
            return self::db()->prepare('INSERT INTO teas VALUES (?)')->execute([$name]);
        } catch (\PDOException) {
            return false;
        } finally {
            self::db()->rollBack();
        }
    }

    public static function import(): string
    {
        self::db()->exec("SET SESSION sql_mode = ''");

        return self::takes('Darjeeling') ? 'Imported.' : 'Nothing was imported.';
    }

    private static function db(): PDO
    {
        return self::$db ??= new PDO((string) getenv('DATABASE_DSN'), (string) getenv('DATABASE_USER'));
    }
}
