<?php

declare(strict_types=1);

namespace App;

use PDO;

/** Opens a connection for each report. */
final class Reports
{
    /** @var list<PDO> */
    private array $connections = [];

    public function report(): string
    {
        $this->connections[] = $db = new PDO('sqlite::memory:');

        return 'Sums: ' . $db->query('SELECT 2 + 3')->fetchColumn();
    }
}
