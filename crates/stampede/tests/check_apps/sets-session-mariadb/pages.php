<?php

declare(strict_types=1);

// Planted fault: /import has MariaDB take what does not fit, and leaves the kept connection so; /check tells by
// what it answers.

require_once __DIR__ . '/src/Shop.php';

return [
    '/check' => static fn (): string => App\Shop::takes('Darjeeling') ? 'It fits.' : 'It does not fit.',
    '/import' => static fn (): string => App\Shop::import(),
];
