<?php

declare(strict_types=1);

require __DIR__ . '/../autoload.php';
require __DIR__ . '/Scratch.php';
require __DIR__ . '/Torn.php';
// Doubles of what an app's vendor folder brings: as much of the public interfaces as is used.
require __DIR__ . '/doubles/psr.php';
require __DIR__ . '/doubles/symfony.php';
require __DIR__ . '/doubles/laravel.php';
require __DIR__ . '/doubles/frankenphp.php';
// And of the extension.
require __DIR__ . '/doubles/swoole.php';
