<?php

declare(strict_types=1);

namespace App;

use App\Controller\Pages;
use Symfony\Bundle\FrameworkBundle\FrameworkBundle;
use Symfony\Bundle\FrameworkBundle\Kernel\MicroKernelTrait;
use Symfony\Component\DependencyInjection\Loader\Configurator\ContainerConfigurator;
use Symfony\Component\HttpKernel\Kernel as BaseKernel;
use Symfony\Component\Routing\Loader\Configurator\RoutingConfigurator;
use Symfony\Component\Security\Csrf\CsrfTokenManagerInterface;

/** Configured here, and not by files of a directory `config`. */
final class Kernel extends BaseKernel
{
    use MicroKernelTrait;

    public function registerBundles(): iterable
    {
        return [new FrameworkBundle()];
    }

    /** Without a composer.json it would be the directory of this file. */
    public function getProjectDir(): string
    {
        return dirname(__DIR__);
    }

    private function configureContainer(ContainerConfigurator $container): void
    {
        $container->extension('framework', [
            // Signs nothing that is sent anywhere.
            'secret' => 'stampede',
            'http_method_override' => false,
            'router' => ['utf8' => true],
            'session' => [
                'handler_id' => null,
                'storage_factory_id' => 'session.storage.factory.native',
                'save_path' => '%kernel.project_dir%/var/sessions',
                'cookie_samesite' => 'lax',
            ],
            'csrf_protection' => interface_exists(CsrfTokenManagerInterface::class),
        ]);
        $services = $container->services()->defaults()->autowire()->autoconfigure();
        $services->load('App\\', '.')->exclude(['Kernel.php']);
        $services->load('App\\Controller\\', 'Controller')->tag('controller.service_arguments');
    }

    private function configureRoutes(RoutingConfigurator $routes): void
    {
        foreach (Pages::paths() as $name => $path) {
            $routes->add($name, $path)->controller([Pages::class, Pages::method($name)]);
        }
    }
}
