<?php

declare(strict_types=1);

// A database of one file, which `prepare.php` makes.
return [
    'default' => 'sqlite',
    'connections' => [
        'sqlite' => ['driver' => 'sqlite', 'database' => storage_path('app/shop.db'), 'prefix' => ''],
    ],
];
