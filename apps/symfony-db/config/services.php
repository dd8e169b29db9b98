<?php

declare(strict_types=1);

use Symfony\Component\DependencyInjection\Loader\Configurator\ContainerConfigurator;

return static function (ContainerConfigurator $container): void {
    // One file for the whole container. The name begins with a dot from Symfony 6.3 on.
    $container->parameters()
        ->set('container.dumper.inline_factories', true)
        ->set('.container.dumper.inline_factories', true);
    $container->extension('framework', [
        // Signs nothing that is sent anywhere.
        'secret' => 'stampede',
        'http_method_override' => false,
        'router' => ['utf8' => true],
    ]);
    $services = $container->services()->defaults()->autowire()->autoconfigure();
    $services->set(PDO::class, PDO::class)->args([
        '%env(DATABASE_DSN)%',
        '%env(default::DATABASE_USER)%',
        null,
        [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION, PDO::ATTR_DEFAULT_FETCH_MODE => PDO::FETCH_ASSOC],
    ]);
    $services->load('App\\', '../src/')->exclude('../src/Kernel.php');
    $services->load('App\\Controller\\', '../src/Controller/')->tag('controller.service_arguments');
};
