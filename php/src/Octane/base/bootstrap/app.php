<?php

declare(strict_types=1);

// Octane's workers take this directory for the app's: see Stampede\Worker\Octane\Start.
$_SERVER['APP_BASE_PATH'] = getenv('APP_BASE_PATH');
$app = require getenv('APP_BASE_PATH') . '/bootstrap/app.php';
Stampede\Worker\Octane\Scripts::join($app);
Stampede\Worker\Octane\Named::join($app);
Stampede\Worker\Octane\Watched::join($app);

return $app;
