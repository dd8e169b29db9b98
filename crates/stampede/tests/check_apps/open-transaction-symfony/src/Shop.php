<?php

declare(strict_types=1);

namespace App;

use PDO;

/** Orders in a database of one file. As a service, it is one connection of a worker. */
final class Shop
{
    private ?PDO $db = null;

    public function orders(): int
    {
        return (int) $this->db()->query('SELECT count(*) FROM orders')->fetchColumn();
    }

    public function order(): void
    {
        $this->db()->beginTransaction();
        $this->db()->exec("INSERT INTO orders (item) VALUES ('tea')");
    }

    private function db(): PDO
    {
        if ($this->db === null) {
            $this->db = new PDO('sqlite:' . dirname(__DIR__) . '/var/shop.db', null, null, [PDO::ATTR_TIMEOUT => 1]);
            $this->db->exec('CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, item TEXT)');
        }

        return $this->db;
    }
}
