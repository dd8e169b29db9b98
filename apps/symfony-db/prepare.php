<?php

declare(strict_types=1);

use App\Kernel;

require __DIR__ . '/autoload.php';

// Dumps the container and warms every cache, like `cache:warmup`.
$kernel = new Kernel(getenv('APP_ENV') ?: 'prod', (bool) getenv('APP_DEBUG'));
$kernel->boot();
$warmer = $kernel->getContainer()->get('cache_warmer');
$warmer->enableOptionalWarmers();
$warmer->warmUp($kernel->getCacheDir());
