<?php

declare(strict_types=1);

/** The connection. It lives as long as PHP's memory; if DATABASE_PERSISTENT=1, as the process. */
$connect = static function (): PDO {
    static $connection = null;
    if ($connection === null) {
        $connection = new PDO((string) getenv('DATABASE_DSN'), getenv('DATABASE_USER') ?: null, null, [
            PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION,
            PDO::ATTR_DEFAULT_FETCH_MODE => PDO::FETCH_ASSOC,
            PDO::ATTR_PERSISTENT => getenv('DATABASE_PERSISTENT') === '1',
        ]);
        if (getenv('DATABASE_COUNTED')) {
            (require getenv('DATABASE_COUNTED'))($connection);
        }
    }

    return $connection;
};

/** A condition by which SQLite counts a query. Database servers count all queries themselves. */
$counted = getenv('DATABASE_COUNTED') ? ' AND (SELECT counted())' : '';

/** Distinct keys of rows. All use one order, so that no two transactions wait for each other. */
$keys = static function (int $count): array {
    $keys = [];
    while (count($keys) < $count) {
        $keys[random_int(1, 10000)] = true;
    }
    ksort($keys);

    return array_keys($keys);
};

/** Changes `?queries=` rows in one transaction, and reads each back. */
return static function () use ($connect, $keys, $counted): array {
    $queries = filter_var($_GET['queries'] ?? '1', FILTER_VALIDATE_INT, ['options' => ['min_range' => 1, 'max_range' => 500]]);
    if ($queries === false) {
        return ['status' => 400, 'headers' => ['Content-Type' => 'application/json'], 'body' => '{"error":"`queries` must be from 1 to 500"}'];
    }
    $database = $connect();
    $write = $database->prepare('UPDATE world SET number = number + 1 WHERE id = ?' . $counted);
    $read = $database->prepare('SELECT id, number FROM world WHERE id = ?' . $counted);
    // SQLite allows one writer at a time. IMMEDIATE makes the others wait before they begin.
    $is_file = $database->getAttribute(PDO::ATTR_DRIVER_NAME) === 'sqlite';
    $database->exec($is_file ? 'BEGIN IMMEDIATE' : 'START TRANSACTION');
    try {
        $rows = [];
        foreach ($keys($queries) as $key) {
            $write->execute([$key]);
            $read->execute([$key]);
            $rows[] = array_map('intval', $read->fetch());
            $read->closeCursor();
        }
    } catch (Throwable $error) {
        $database->exec('ROLLBACK');
        throw $error;
    }
    $database->exec('COMMIT');

    return [
        'status' => 200,
        'headers' => ['Content-Type' => 'application/json'],
        'body' => json_encode(['app' => 'db-write', 'rows' => $rows], JSON_THROW_ON_ERROR),
    ];
};
