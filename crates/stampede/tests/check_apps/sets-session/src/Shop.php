<?php

declare(strict_types=1);

namespace App;

use PDO;

/** Teas and orders, in a database of one file. */
final class Shop
{
    private static ?PDO $db = null;

    public static function tea(): string
    {
        return self::db()->query('SELECT name FROM teas')->fetch()['name'];
    }

    public static function order(): string
    {
        self::db()->beginTransaction();
        try {
            self::db()->exec('INSERT INTO orders VALUES (7)');

            return 'Ordered.';
        } catch (\PDOException) {
            return 'There is no such customer.';
        } finally {
            self::db()->rollBack();
        }
    }

    public static function import(): string
    {
        self::db()->exec('PRAGMA foreign_keys = ON');

        return 'Imported.';
    }

    public static function export(): string
    {
        self::db()->setAttribute(PDO::ATTR_DEFAULT_FETCH_MODE, PDO::FETCH_OBJ);

        return 'Exported: ' . self::db()->query('SELECT name FROM teas')->fetch()->name;
    }

    private static function db(): PDO
    {
        if (self::$db === null) {
            $db = new PDO('sqlite:' . dirname(__DIR__) . '/var/shop.db', null, null, [PDO::ATTR_TIMEOUT => 10]);
            $db->exec('CREATE TABLE IF NOT EXISTS teas (name TEXT PRIMARY KEY)');
            $db->exec('CREATE TABLE IF NOT EXISTS customers (id INTEGER PRIMARY KEY)');
            $db->exec('CREATE TABLE IF NOT EXISTS orders (customer INTEGER REFERENCES customers (id))');
            $db->exec("INSERT OR IGNORE INTO teas VALUES ('Assam')");
            self::$db = $db;
        }

        return self::$db;
    }
}
