<?php

declare(strict_types=1);

// Planted fault: /archive makes PostgreSQL look for tables elsewhere, and leaves the kept
// connection like this. /tea shows which table it finds.

require_once __DIR__ . '/src/Shop.php';

return [
    '/tea' => static fn (): string => htmlspecialchars(App\Shop::tea()),
    '/archive' => static fn (): string => htmlspecialchars(App\Shop::archive()),
];
