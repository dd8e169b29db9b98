<?php

declare(strict_types=1);

namespace App;

use PDO;

/** Teas and sessions, in a database of one file. */
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

    /**
     * Returns the session with this id, or a new one. It counts how often it was asked for.
     *
     * @return array{id: string, token: string, looked: int}
     */
    public static function session(string $id): array
    {
        $find = self::db()->prepare('UPDATE sessions SET looked = looked + 1 WHERE id = ? RETURNING id, token, looked');
        $find->execute([$id]);
        $session = $find->fetchAll(PDO::FETCH_ASSOC)[0] ?? null;
        if ($session === null) {
            $session = ['id' => bin2hex(random_bytes(16)), 'token' => bin2hex(random_bytes(16)), 'looked' => 1];
            self::db()->prepare('INSERT INTO sessions VALUES (:id, :token, :looked)')->execute($session);
        }

        return $session;
    }

    private static function db(): PDO
    {
        if (self::$db === null) {
            $db = new PDO('sqlite:' . dirname(__DIR__) . '/var/shop.db', null, null, [PDO::ATTR_TIMEOUT => 10]);
            $db->exec('CREATE TABLE IF NOT EXISTS teas (name TEXT PRIMARY KEY)');
            $db->exec("INSERT OR IGNORE INTO teas VALUES ('Assam'), ('Sencha'), ('Oolong')");
            $db->exec('CREATE TABLE IF NOT EXISTS sessions (id TEXT PRIMARY KEY, token TEXT, looked INTEGER)');
            self::$db = $db;
        }

        return self::$db;
    }
}
