<?php

declare(strict_types=1);

namespace Stampede\Worker\Tests;

use PHPUnit\Framework\TestCase;

/**
 * Runs Symfony itself in separate processes: a worker must turn errors into the same answers as the
 * front controller does.
 */
final class SymfonyTest extends TestCase
{
    private const FRAMEWORK = 'Symfony/Bundle/FrameworkBundle/autoload.php';
    private const KERNEL = <<<'PHP'
        <?php
        namespace App;
        require_once 'Symfony/Bundle/FrameworkBundle/autoload.php';
        use Symfony\Component\DependencyInjection\Loader\Configurator\ContainerConfigurator;
        use Symfony\Component\DependencyInjection\Reference;
        use Symfony\Component\HttpFoundation\Response;
        use Symfony\Component\Routing\Loader\Configurator\RoutingConfigurator;
        final class Kernel extends \Symfony\Component\HttpKernel\Kernel
        {
            use \Symfony\Bundle\FrameworkBundle\Kernel\MicroKernelTrait;
            public function registerBundles(): iterable
            {
                return [new \Symfony\Bundle\FrameworkBundle\FrameworkBundle()];
            }
            public function getProjectDir(): string
            {
                return __DIR__;
            }
            private function configureContainer(ContainerConfigurator $container): void
            {
                $container->extension('framework', ['secret' => 's', 'http_method_override' => false]);
                $listens = $container->services()->set(Listens::class)->public();
                $listens->args([new Reference('request_stack')]);
                foreach (['exception', 'response', 'finish_request', 'terminate'] as $name) {
                    $listens->tag('kernel.event_listener', ['event' => "kernel.$name", 'method' => $name]);
                }
            }
            private function configureRoutes(RoutingConfigurator $routes): void
            {
                foreach (['fine', 'error', 'exception', 'teapot'] as $name) {
                    $routes->add($name, "/$name")->controller([Listens::class, 'show']);
                }
            }
        }
        final class Listens
        {
            public function __construct(private $stack)
            {
            }
            public function show(): Response
            {
                switch ($this->stack->getCurrentRequest()->getPathInfo()) {
                    case '/error': throw new \TypeError('wrong');
                    case '/exception': throw new \LogicException('wrong');
                    case '/teapot': throw new \Error('teapot');
                }
                return new Response('fine');
            }
            private function note(string $name, string $more = ''): void
            {
                fwrite(STDERR, "$name $more of " . ($this->stack->getMainRequest()?->getPathInfo() ?? 'none') . "\n");
            }
            public function exception($event): void
            {
                $error = $event->getThrowable();
                $this->note('exception', get_class($error));
                if ($error->getMessage() === 'teapot') {
                    // Its status says that all is well, which it cannot.
                    $event->setResponse(new Response('A page of its own.'));
                }
            }
            public function response($event): void
            {
                $this->note('response', (string) $event->getResponse()->getStatusCode());
                $event->getResponse()->headers->set('X-Listener', 'was here');
            }
            public function finish_request($event): void
            {
                $this->note('finish');
            }
            public function terminate($event): void
            {
                $answer = $event->getResponse();
                $headers = array_diff_key($answer->headers->all(), ['date' => 0]);
                $this->note('terminate', $answer->getStatusCode() . json_encode($headers));
            }
        }
        PHP;

    /** @return array{string, string} what was printed, and what the listeners noted */
    private static function ran(ScratchDirectory $scratch, string $code): array
    {
        $text = '<?php require ' . var_export(dirname(__DIR__) . '/autoload.php', true) . "; $code";
        file_put_contents("{$scratch->directory}/run.php", $text);
        $set = ['-d', 'display_errors=0', '-d', 'error_log=/dev/null'];
        $pipes = [['file', '/dev/null', 'r'], ['pipe', 'w'], ['file', "{$scratch->directory}/noted", 'w']];
        $process = proc_open([PHP_BINARY, ...$set, "{$scratch->directory}/run.php"], $pipes, $lines);
        $out = (string) stream_get_contents($lines[1]);
        proc_close($process);

        return [$out, (string) file_get_contents("{$scratch->directory}/noted")];
    }

    public function testAnErrorIsAnsweredAsByTheFrontController(): void
    {
        if (stream_resolve_include_path(self::FRAMEWORK) === false) {
            self::markTestSkipped('not installed here: ' . self::FRAMEWORK);
        }
        $scratch = new ScratchDirectory(['autoload.php' => self::KERNEL]);
        $paths = ['/fine', '/error', '/exception', '/teapot'];
        [$bodies, $noted] = ['', ''];
        foreach ($paths as $path) {
            [$body, $notes] = self::ran($scratch, "require __DIR__ . '/autoload.php';
                \$_SERVER['REQUEST_URI'] = '$path';
                \$request = Symfony\Component\HttpFoundation\Request::createFromGlobals();
                \$kernel = new App\Kernel('prod', false);
                \$response = \$kernel->handle(\$request);
                \$response->send();
                \$kernel->terminate(\$request, \$response);");
            [$bodies, $noted] = [$bodies . $body, $noted . $notes];
        }
        $app = '$app = Stampede\Worker\AppFactory::boot(__DIR__, "symfony", "own", "");';
        foreach ($paths as $path) {
            $app .= "\$_SERVER['REQUEST_URI'] = '$path';
                echo \$app->handle(new Stampede\Worker\Request('GET', '$path'))->body;
                \$app->terminate();";
        }
        self::assertSame([$bodies, $noted], self::ran($scratch, $app));
        self::assertStringContainsString(
            "exception Error of /teapot\nresponse 500 of /teapot\nfinish  of /teapot\nterminate 500{",
            $noted,
        );
        self::assertStringContainsString('"x-listener":["was here"]', $noted);
    }
}
