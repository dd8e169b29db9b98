<?php

declare(strict_types=1);

use Illuminate\Contracts\Console\Kernel as ConsoleContract;
use Illuminate\Contracts\Debug\ExceptionHandler;
use Laravel\Lumen\Application;
use Laravel\Lumen\Console\Kernel as ConsoleKernel;
use Laravel\Lumen\Exceptions\Handler;

require_once dirname(__DIR__) . '/autoload.php';

$app = new Application(dirname(__DIR__));
$app->singleton(ExceptionHandler::class, Handler::class);
$app->singleton(ConsoleContract::class, ConsoleKernel::class);
$app->configure('app');
$app->configure('logging');
$app->router->group(
    ['namespace' => 'App\Http\Controllers'],
    static function (object $router): void {
        require dirname(__DIR__) . '/routes/web.php';
    },
);

return $app;
