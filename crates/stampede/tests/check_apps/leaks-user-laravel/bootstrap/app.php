<?php

declare(strict_types=1);

use Illuminate\Contracts\Console\Kernel as ConsoleContract;
use Illuminate\Contracts\Debug\ExceptionHandler;
use Illuminate\Contracts\Http\Kernel as HttpContract;
use Illuminate\Foundation\Application;
use Illuminate\Foundation\Console\Kernel as ConsoleKernel;
use Illuminate\Foundation\Exceptions\Handler;

require_once dirname(__DIR__) . '/autoload.php';

$app = new Application(dirname(__DIR__));
$app->singleton(HttpContract::class, App\Http\Kernel::class);
$app->singleton(ConsoleContract::class, ConsoleKernel::class);
$app->singleton(ExceptionHandler::class, Handler::class);
// The fault: one object for all requests, which keeps the first request.
$app->singleton(App\Visitor::class);

return $app;
