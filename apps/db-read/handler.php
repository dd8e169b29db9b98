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

/** Reads one row by its key. */
$row = static function (PDOStatement $by): array {
    $by->execute([random_int(1, 10000)]);

    return array_map('intval', $by->fetch());
};

/** Renders twenty rows as a page. */
$table = static function (PDO $database) use ($counted): string {
    $lines = '';
    foreach ($database->query("SELECT id, number FROM world WHERE id <= 20$counted ORDER BY id") as $row) {
        $lines .= '<tr><td>' . htmlspecialchars((string) $row['id'])
            . '</td><td>' . htmlspecialchars((string) $row['number']) . "</td></tr>\n";
    }

    return "<!doctype html>\n<title>db-read</title>\n<table>\n$lines</table>\n";
};

/** Reads `?queries=` rows, one by one. `/rows` renders twenty rows from one query. */
return static function (array $server) use ($connect, $row, $table, $counted): array {
    $database = $connect();
    if (parse_url($server['REQUEST_URI'], PHP_URL_PATH) === '/rows') {
        return ['status' => 200, 'headers' => ['Content-Type' => 'text/html; charset=utf-8'], 'body' => $table($database)];
    }
    $queries = filter_var($_GET['queries'] ?? '1', FILTER_VALIDATE_INT, ['options' => ['min_range' => 1, 'max_range' => 500]]);
    if ($queries === false) {
        return ['status' => 400, 'headers' => ['Content-Type' => 'application/json'], 'body' => '{"error":"`queries` must be from 1 to 500"}'];
    }
    $by = $database->prepare('SELECT id, number FROM world WHERE id = ?' . $counted);
    $rows = [];
    for ($i = 0; $i < $queries; $i++) {
        $rows[] = $row($by);
    }

    return [
        'status' => 200,
        'headers' => ['Content-Type' => 'application/json'],
        'body' => json_encode(['app' => 'db-read', 'rows' => $rows], JSON_THROW_ON_ERROR),
    ];
};
