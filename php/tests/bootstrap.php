<?php

declare(strict_types=1);

require __DIR__ . '/../autoload.php';
require __DIR__ . '/ScratchDirectory.php';
require __DIR__ . '/ChunkedStream.php';
require __DIR__ . '/WorkerProcess.php';
require __DIR__ . '/LoopTestCase.php';
require __DIR__ . '/RecordedWorker.php';
foreach (['RawRequest', 'CgiProcess', 'Generator'] as $class) {
    require __DIR__ . "/conformance/$class.php";
}
// Doubles of what runtimes and an app's vendor directory bring: only the part of their public
// interfaces that is used. A test that runs as a process of its own loads others itself.
foreach (['psr', 'symfony', 'laravel', 'frankenphp', 'octane', 'swoole'] as $double) {
    require_once __DIR__ . "/doubles/$double.php";
}
