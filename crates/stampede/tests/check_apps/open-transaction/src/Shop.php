<?php

declare(strict_types=1);

namespace App;

use PDO;

/** Orders in a database of one file. */
final class Shop
{
    private static ?PDO $db = null;

    public static function db(): PDO
    {
        if (self::$db === null) {
            self::$db = new PDO('sqlite:' . dirname(__DIR__) . '/var/shop.db', null, null, [PDO::ATTR_TIMEOUT => 1]);
            self::$db->exec('CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, item TEXT)');
        }

        return self::$db;
    }

    public static function order(): string
    {
        self::db()->beginTransaction();
        self::db()->exec("INSERT INTO orders (item) VALUES ('tea')");

        return 'Nothing is in stock.';
    }
}
