<?php

declare(strict_types=1);

// The front controller of per-request runtimes; workers boot `bootstrap/app.php` themselves.
$app = require dirname(__DIR__) . '/bootstrap/app.php';
$app->run();
