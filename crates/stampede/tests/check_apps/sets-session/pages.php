<?php

declare(strict_types=1);

// Planted faults: /import has SQLite check foreign keys, /export has PDO fetch objects, and both leave the kept
// connection so; then /orders takes no order for a customer that is not there, and /teas fails.

require_once __DIR__ . '/src/Shop.php';

return [
    '/teas' => static fn (): string => htmlspecialchars(App\Shop::tea()),
    '/orders' => static fn (): string => App\Shop::order(),
    '/import' => static fn (): string => App\Shop::import(),
    '/export' => static fn (): string => App\Shop::export(),
];
