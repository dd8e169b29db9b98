<?php

declare(strict_types=1);

namespace App;

use PDO;

/** Opens a connection for each report. */
final class Reports
{
    /** @var list<PDO> */
    private static array $connections = [];

    public static function report(): string
    {
        return self::read(self::$connections[] = self::connect());
    }

    public static function connect(): PDO
    {
        return new PDO((string) getenv('DATABASE_DSN'), (string) getenv('DATABASE_USER'));
    }

    public static function read(PDO $db): string
    {
        return (string) $db->query('SELECT name FROM teas')->fetchColumn();
    }
}
