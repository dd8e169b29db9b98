<?php

declare(strict_types=1);

// Planted fault: /search notes each day's searches one by one, a byte each: less than a slope of PHP's memory tells.

require_once __DIR__ . '/src/Searches.php';

return [
    '/' => static fn (): string => App\Searches::menu(),
    '/search' => static fn (): string => App\Searches::count(),
];
