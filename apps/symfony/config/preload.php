<?php

declare(strict_types=1);

use App\Kernel;

// All that is included while this runs is preloaded: the list that Symfony dumps beside the container
// (see `prepare.php`), where it is Composer's, and else what the kernel boots with.
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
