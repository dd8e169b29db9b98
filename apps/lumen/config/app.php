<?php

declare(strict_types=1);

return [
    'name' => 'stampede',
    'env' => env('APP_ENV', 'production'),
    'debug' => (bool) env('APP_DEBUG', false),
    'url' => 'http://localhost',
    'timezone' => 'UTC',
    'locale' => 'en',
    'fallback_locale' => 'en',
    'key' => 'stampede-stampede-stampede-stam!',
    'cipher' => 'AES-256-CBC',
];
