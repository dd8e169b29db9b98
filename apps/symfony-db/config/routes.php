<?php

declare(strict_types=1);

use App\Controller\ReadController;
use App\Controller\RowsController;
use App\Controller\WriteController;
use Symfony\Component\Routing\Loader\Configurator\RoutingConfigurator;

return static function (RoutingConfigurator $routes): void {
    $routes->add('read', '/')->controller(ReadController::class);
    $routes->add('rows', '/rows')->controller(RowsController::class);
    $routes->add('write', '/write')->controller(WriteController::class);
};
