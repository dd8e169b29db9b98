<?php

declare(strict_types=1);

// Included before each script where the app's settings say `https: true`.
$_SERVER['HTTPS'] = 'on';
$_SERVER['REQUEST_SCHEME'] = 'https';
$_SERVER['SERVER_PORT'] = '443';
