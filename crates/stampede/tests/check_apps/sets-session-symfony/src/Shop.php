<?php

declare(strict_types=1);

namespace App;

use PDO;

/** Orders, in a database of one file: a service, and so one connection of a worker. */
final class Shop
{
    private ?PDO $db = null;

    public function order(): string
    {
        $db = $this->db();
        $db->beginTransaction();
        try {
            $db->exec('INSERT INTO orders VALUES (7)');

            return 'Ordered.';
        } catch (\PDOException) {
            return 'There is no such customer.';
        } finally {
            $db->rollBack();
        }
    }

    public function import(): string
    {
        $this->db()->exec('PRAGMA foreign_keys = ON');

        return 'Imported.';
    }

    private function db(): PDO
    {
        if ($this->db === null) {
            $db = new PDO('sqlite:' . dirname(__DIR__) . '/var/shop.db', null, null, [PDO::ATTR_TIMEOUT => 10]);
            $db->exec('CREATE TABLE IF NOT EXISTS customers (id INTEGER PRIMARY KEY)');
            $db->exec('CREATE TABLE IF NOT EXISTS orders (customer INTEGER REFERENCES customers (id))');
            $this->db = $db;
        }

        return $this->db;
    }
}
