<?php

declare(strict_types=1);

// Octane's workers take this directory for the app's: see Stampede\Worker\Octane\Start.
$_SERVER['APP_BASE_PATH'] = getenv('APP_BASE_PATH');
/** @var \Illuminate\Foundation\Application $app */
$app = require getenv('APP_BASE_PATH') . '/bootstrap/app.php';
Stampede\Worker\Octane\Scripts::register($app);
Stampede\Worker\Octane\ProcessNames::register($app);
Stampede\Worker\Octane\RecorderListener::register($app);

return $app;
