<?php

declare(strict_types=1);

require __DIR__ . '/../autoload.php';
require __DIR__ . '/Scratch.php';
require __DIR__ . '/Torn.php';
require __DIR__ . '/Served.php';
require __DIR__ . '/LoopTestCase.php';
// Doubles of what runtimes and an app's vendor folder bring: as much of the public interfaces as is
// used. Those that others build on first.
require_once __DIR__ . '/doubles/psr.php';
require_once __DIR__ . '/doubles/symfony.php';
foreach (glob(__DIR__ . '/doubles/*.php') as $double) {
    require_once $double;
}
