<?php

declare(strict_types=1);

// The front controller for per-request runtimes. Workers boot `bootstrap/app.php` directly.
$app = require dirname(__DIR__) . '/bootstrap/app.php';
$app->run();
