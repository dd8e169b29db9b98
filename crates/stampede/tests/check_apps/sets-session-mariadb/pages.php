<?php

declare(strict_types=1);

// Planted fault: /import makes MariaDB accept values that do not fit, and leaves the kept
// connection like this. The answer of /check shows it.

require_once __DIR__ . '/src/Shop.php';

return [
    '/check' => static fn (): string => App\Shop::takes('Darjeeling') ? 'It fits.' : 'It does not fit.',
    '/import' => static fn (): string => App\Shop::import(),
];
