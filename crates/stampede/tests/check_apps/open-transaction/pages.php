<?php

declare(strict_types=1);

// Planted fault: /order begins a transaction and ends it neither way; the connection is kept, so the next order fails.

require_once __DIR__ . '/src/Shop.php';

return [
    '/' => static fn (): string => App\Shop::db()->query('SELECT count(*) FROM orders')->fetchColumn() . ' orders.',
    '/order' => static fn (): string => App\Shop::order(),
];
