<?php

declare(strict_types=1);

use App\Controller\HomeController;
use App\Controller\KindController;
use Symfony\Component\Routing\Loader\Configurator\RoutingConfigurator;

return static function (RoutingConfigurator $routes): void {
    $routes->add('home', '/')->controller(HomeController::class);
    foreach (['form', 'cookies', 'session', 'upload'] as $name) {
        $routes->add($name, "/$name")->controller([KindController::class, $name]);
    }
};
