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
        // Translates nothing. Where more of Symfony is installed there are texts to translate, by extensions that this
        // app has no other need of.
        'translator' => ['enabled' => false],
    ]);
    $container->extension('twig', [
        'default_path' => '%kernel.project_dir%/templates',
        'strict_variables' => true,
    ]);
    $services = $container->services()->defaults()->autowire()->autoconfigure();
    $services->load('App\\Controller\\', '../src/Controller/')->tag('controller.service_arguments');
};
