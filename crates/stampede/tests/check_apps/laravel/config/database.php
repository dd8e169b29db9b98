<?php

declare(strict_types=1);

// One file; `prepare.php` makes it.
return [
    'default' => 'sqlite',
    'connections' => [
        'sqlite' => ['driver' => 'sqlite', 'database' => storage_path('app/shop.db'), 'prefix' => ''],
    ],
];
