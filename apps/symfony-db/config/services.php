<?php

declare(strict_types=1);

use Symfony\Component\DependencyInjection\Loader\Configurator\ContainerConfigurator;

return static function (ContainerConfigurator $container): void {
    // Dumps the container as one file. From Symfony 6.3 on, the name begins with a dot.
    $container->parameters()
        ->set('container.dumper.inline_factories', true)
        ->set('.container.dumper.inline_factories', true);
    $container->extension('framework', [
        // A fixed secret, because nothing signed with it is sent anywhere.
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
