<?php

declare(strict_types=1);

// Planted fault: /order never ends its transaction. The connection is kept: the next order fails.

require_once __DIR__ . '/src/Shop.php';

return [
    '/' => static fn (): string => App\Shop::db()->query('SELECT count(*) FROM orders')->fetchColumn() . ' orders.',
    '/order' => static fn (): string => App\Shop::order(),
];
