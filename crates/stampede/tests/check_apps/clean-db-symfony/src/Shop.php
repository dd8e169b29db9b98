<?php

declare(strict_types=1);

namespace App;

use PDO;

/** Teas in a database of one file, which also counts who looked at them. */
final class Shop
{
    private ?PDO $db = null;

    /** @return list<string> */
    public function teas(): array
    {
        $this->db()->beginTransaction();
        $this->db()->exec("INSERT INTO looks (tea) VALUES ('Assam')");
        $this->db()->commit();

        return $this->db()->query('SELECT name FROM teas ORDER BY name')->fetchAll(PDO::FETCH_COLUMN);
    }

    private function db(): PDO
    {
        if ($this->db === null) {
            $db = new PDO('sqlite:' . dirname(__DIR__) . '/var/shop.db', null, null, [PDO::ATTR_TIMEOUT => 10]);
            $db->exec('CREATE TABLE IF NOT EXISTS teas (name TEXT PRIMARY KEY)');
            $db->exec("INSERT OR IGNORE INTO teas VALUES ('Assam'), ('Sencha'), ('Oolong')");
            $db->exec('CREATE TABLE IF NOT EXISTS looks (id INTEGER PRIMARY KEY, tea TEXT)');
            $this->db = $db;
        }

        return $this->db;
    }
}
