<?php

declare(strict_types=1);

// Planted fault: /archive has PostgreSQL look for tables elsewhere, and leaves the kept connection so; /tea shows
// what it finds.

require_once __DIR__ . '/src/Shop.php';

return [
    '/tea' => static fn (): string => htmlspecialchars(App\Shop::tea()),
    '/archive' => static fn (): string => htmlspecialchars(App\Shop::archive()),
];
