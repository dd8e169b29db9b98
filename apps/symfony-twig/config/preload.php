<?php

declare(strict_types=1);

use App\Kernel;

// Every file that this script includes is preloaded. With Composer it is the list that Symfony dumps
// beside the container (see `prepare.php`), otherwise what the kernel loads at boot.
$lists = glob(dirname(__DIR__) . '/var/cache/prod/*.preload.php');
foreach ($lists as $list) {
    require $list;
}
if ($lists === []) {
    require dirname(__DIR__) . '/autoload.php';
    $kernel = new Kernel('prod', false);
    $kernel->boot();
    $kernel->getContainer()->get('http_kernel');
    $kernel->getContainer()->get('router');
}
