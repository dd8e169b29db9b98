<?php

declare(strict_types=1);

// The worker of the projects beside this file: that of stampede's own runtimes (`php/`). The environment has its
// choices.
require '/library/autoload.php';

$worker = (string) getenv('WORKER');
$setup = new Stampede\Worker\Setup(
    app: '/app',
    kind: getenv('KIND') ?: 'symfony',
    docroot: '/app/public',
    dir: '/worker',
    host: '0.0.0.0',
    port: 9000,
    needs: [
        'php_cgi' => 'php-cgi',
        'swoole_so' => 'swoole',
        'php_ppm' => '/ppm/vendor/autoload.php',
        'reactphp' => '/react/vendor/autoload.php',
    ],
    settings: [
        'workers' => (int) (getenv('WORKERS') ?: 1),
        'max_requests' => (int) getenv('MAX_REQUESTS'),
        'reboot_kernel' => getenv('REBOOT_KERNEL') === '1',
        'adapter' => 'own',
    ],
    cpus: (int) (getenv('WORKERS') ?: 1),
);
exit(Stampede\Worker\Main::run(
    static fn () => ("Stampede\\Worker\\$worker\\Start")::worker($setup),
));
