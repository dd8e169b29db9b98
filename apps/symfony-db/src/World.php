<?php

declare(strict_types=1);

namespace App;

use PDO;
use Throwable;

/** The table of 10 000 rows. */
final class World
{
    private PDO $database;
    /** A condition by which SQLite counts a query. Database servers count all queries themselves. */
    private string $counted = '';

    public function __construct(PDO $database)
    {
        $this->database = $database;
        $file = getenv('DATABASE_COUNTED');
        if ($file) {
            (require $file)($database);
            $this->counted = ' AND (SELECT counted())';
        }
    }

    /** @return list<array{id: int, number: int}> some rows, each read by a separate query */
    public function some(int $count): array
    {
        $by = $this->database->prepare('SELECT id, number FROM world WHERE id = ?' . $this->counted);
        $rows = [];
        for ($i = 0; $i < $count; $i++) {
            $by->execute([random_int(1, 10000)]);
            $rows[] = array_map('intval', $by->fetch());
        }

        return $rows;
    }

    /** @return list<array{id: int, number: int}> the first rows, read by one query */
    public function first(int $count): array
    {
        $by = $this->database->prepare("SELECT id, number FROM world WHERE id <= ?{$this->counted} ORDER BY id");
        $by->execute([$count]);

        return array_map(static fn (array $row): array => array_map('intval', $row), $by->fetchAll());
    }

    /** @return list<array{id: int, number: int}> some rows, changed in one transaction */
    public function change(int $count): array
    {
        $write = $this->database->prepare('UPDATE world SET number = number + 1 WHERE id = ?' . $this->counted);
        $read = $this->database->prepare('SELECT id, number FROM world WHERE id = ?' . $this->counted);
        // SQLite allows one writer at a time. IMMEDIATE makes the others wait before they begin.
        $isFile = $this->database->getAttribute(PDO::ATTR_DRIVER_NAME) === 'sqlite';
        $this->database->exec($isFile ? 'BEGIN IMMEDIATE' : 'START TRANSACTION');
        try {
            $rows = [];
            foreach ($this->keys($count) as $key) {
                $write->execute([$key]);
                $read->execute([$key]);
                $rows[] = array_map('intval', $read->fetch());
                $read->closeCursor();
            }
        } catch (Throwable $error) {
            $this->database->exec('ROLLBACK');
            throw $error;
        }
        $this->database->exec('COMMIT');

        return $rows;
    }

    /** @return list<int> distinct keys in a common order: no two transactions wait for each other */
    private function keys(int $count): array
    {
        $keys = [];
        while (count($keys) < $count) {
            $keys[random_int(1, 10000)] = true;
        }
        ksort($keys);

        return array_keys($keys);
    }
}
