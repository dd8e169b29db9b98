<?php

declare(strict_types=1);

// Planted fault: each /search leaves 2 KB in a static property.

require_once __DIR__ . '/src/Log.php';

return [
    '/search' => static fn (): string => App\Log::keep(bin2hex(random_bytes(1024))) . 'Nothing found.',
];
