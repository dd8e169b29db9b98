<?php

declare(strict_types=1);

// Planted fault: /search keeps a byte per search: too little to show in the growth of PHP's memory.

require_once __DIR__ . '/src/Searches.php';

return [
    '/' => static fn (): string => App\Searches::menu(),
    '/search' => static fn (): string => App\Searches::count(),
];
