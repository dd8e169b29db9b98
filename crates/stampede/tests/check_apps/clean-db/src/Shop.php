<?php

declare(strict_types=1);

namespace App;

use PDO;

/** Teas, in a database of one file. */
final class Shop
{
    private static ?PDO $db = null;

    /** @return list<string> */
    public static function teas(): array
    {
        return self::db()->query('SELECT name FROM teas ORDER BY name')->fetchAll(PDO::FETCH_COLUMN);
    }

    public static function sold(): bool
    {
        self::db()->beginTransaction();
        try {
            self::db()->exec('DELETE FROM teas');
        } finally {
            self::db()->rollBack();
        }

        return true;
    }

    private static function db(): PDO
    {
        if (self::$db === null) {
            $db = new PDO('sqlite:' . dirname(__DIR__) . '/var/shop.db', null, null, [PDO::ATTR_TIMEOUT => 10]);
            $db->exec('CREATE TABLE IF NOT EXISTS teas (name TEXT PRIMARY KEY)');
            $db->exec("INSERT OR IGNORE INTO teas VALUES ('Assam'), ('Sencha'), ('Oolong')");
            self::$db = $db;
        }

        return self::$db;
    }
}
