<?php

declare(strict_types=1);

use App\Controller\GreetingController;
use Symfony\Component\Routing\Loader\Configurator\RoutingConfigurator;

return static function (RoutingConfigurator $routes): void {
    $routes->add('greeting', '/')->controller(GreetingController::class);
};
