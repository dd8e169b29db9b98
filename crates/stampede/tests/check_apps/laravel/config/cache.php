<?php

declare(strict_types=1);

return [
    'default' => 'file',
    'stores' => [
        'array' => ['driver' => 'array'],
        'file' => ['driver' => 'file', 'path' => storage_path('framework/cache/data')],
    ],
    'prefix' => 'stampede',
];
