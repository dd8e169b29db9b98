<?php

// Octane's workers take this directory for the app's; see Stampede\Worker\Octane\Start.
return require getenv('APP_BASE_PATH') . '/vendor/autoload.php';
