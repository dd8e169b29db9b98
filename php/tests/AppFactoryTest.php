<?php

declare(strict_types=1);

namespace Stampede\Worker\Tests;

use App\Kernel;
use Laravel\Lumen\Application;
use PHPUnit\Framework\TestCase;
use Stampede\Worker\App;
use Stampede\Worker\App\Illuminate;
use Stampede\Worker\AppFactory;
use Stampede\Worker\AppRequirements;
use Stampede\Worker\Problem;
use Stampede\Worker\Request;

final class AppFactoryTest extends TestCase
{
    private const LARAVEL = '<?php return new Stampede\Worker\Tests\LaravelDouble();';
    private const LUMEN = '<?php return new Laravel\Lumen\Application();';
    private const FRONT = '<?php return static fn (array $context) =>
        new App\Kernel($context["APP_ENV"] . "-by-runtime", false);';
    private const PSR15 = '<?php return new class implements Psr\Http\Server\RequestHandlerInterface {
        public function handle($request): Psr\Http\Message\ResponseInterface {
            echo "printed ";
            $body = json_encode([$request->kept["method"], $request->kept["uri"],
                $request->kept["queryParams"], $request->kept["cookieParams"],
                $request->kept["parsedBody"] ?? null, $request->kept["uploadedFiles"]["f"][0]->name ?? null,
                (string) $request->kept["body"], $request->headers]);
            return new Nyholm\Psr7\Response(202, ["X-B" => ["1", "2"]], $body);
        }
    };';

    private ScratchDirectory $scratch;

    /** @param array<string, string> $files */
    private function boot(string $kind, array $files = [], string $adapter = 'own'): App
    {
        $this->scratch = new ScratchDirectory($files);
        $directory = $this->scratch->directory;

        return AppFactory::boot($directory, $kind, $adapter, "$directory/public/index.php");
    }

    /** @param array<string, string> $files */
    private function failureOf(string $kind, array $files = [], string $adapter = 'own'): string
    {
        try {
            $this->boot($kind, $files, $adapter);
        } catch (Problem $problem) {
            return str_replace($this->scratch->directory, '', $problem->getMessage());
        }
        self::fail("`$kind` by `$adapter` was booted");
    }

    public function testAPsr15HandlerGetsAllOfTheRequest(): void
    {
        foreach (['own', 'psr7'] as $adapter) {
            $app = $this->boot('psr15', ['handler.php' => self::PSR15], $adapter);
            $file = ['name' => 'n', 'type' => '', 'size' => 1, 'error' => 4, 'tmp_name' => ''];
            $request = new Request('POST', '/p?g=1', ['Host' => ['h:1']], 'raw', ['c' => '2']);
            $request->files = ['f' => [$file]];
            $this->expectOutputString(str_repeat('printed ', $adapter === 'own' ? 1 : 2));
            $response = $app->handle($request);
            $app->terminate();
            self::assertSame([202, ['X-B' => ['1', '2']]], [$response->status, $response->headers]);
            self::assertSame(
                '["POST","http:\/\/h:1\/p?g=1",{"g":"1"},{"c":"2"},null,"n","raw",{"Host":["h:1"]}]',
                $response->body,
            );
            $request->form = ['a' => 'b'];
            ob_start();
            self::assertStringContainsString('{"a":"b"}', $app->handle($request)->body);
            ob_end_clean();
        }
    }

    public function testASymfonyKernelIsAskedTerminatedAndRebooted(): void
    {
        Kernel::$calls = [];
        $app = $this->boot('symfony');
        $_SERVER['REQUEST_URI'] = '/s';
        $file = ['name' => 'n', 'type' => '', 'size' => 1, 'error' => 0, 'tmp_name' => '/t'];
        $request = new Request('POST', '/s?a=1', [], 'b', ['c' => '2'], ['f' => '3']);
        $request->files = ['paper' => $file];
        $response = $app->handle($request);
        unset($_SERVER['REQUEST_URI']);
        self::assertSame('[{"a":"1"},{"f":"3"},{"c":"2"},"b","\/s",["n",true]]', $response->body);
        $headers = ['X-Kind' => ['symfony'], 'Set-Cookie' => ['id=7; path=/']];
        self::assertSame([201, $headers], [$response->status, $response->headers]);
        self::assertSame(['new prod plain', 'handle'], Kernel::$calls);
        $app->terminate();
        $app->terminate();
        $app->reboot();
        self::assertSame(['terminate', 'reboot'], array_slice(Kernel::$calls, 2));
        $put = new Request('PUT', '/s', ['Content-Type' => ['application/x-www-form-urlencoded']], 'f[]=3');
        self::assertStringStartsWith('[[],{"f":["3"]},', $app->handle($put)->body, 'as from globals');
        $app->terminate();
        $streamed = $app->handle(new Request('GET', '/?stream=1'));
        self::assertSame('', $streamed->body);
        $this->expectOutputString('streamed');
        ($streamed->stream)(static function (): void {
        });
    }

    public function testSymfonysRuntimeResolvesTheFrontController(): void
    {
        Kernel::$calls = [];
        $app = $this->boot('symfony', ['public/index.php' => self::FRONT], 'symfony-runtime');
        $app->handle(new Request());
        self::assertSame(['new prod-by-runtime plain', 'handle'], Kernel::$calls);
        $said = $this->failureOf('symfony', ['public/index.php' => '<?php'], 'symfony-runtime');
        self::assertSame('`/public/index.php` returns no closure for symfony/runtime', $said);
    }

    /**
     * Since Symfony 6.2 a kernel may tell its listeners of an error itself: they must not hear it
     * twice.
     */
    public function testAnErrorThatSymfonyFoundNoAnswerToIsLeftAtThat(): void
    {
        $front = '<?php return static fn () => new class implements Symfony\Component\HttpKernel\KernelInterface {
            private bool $handleAllThrowables = true;
            public function handle(
                $request,
                int $type = 1,
                bool $catch = true,
            ): Symfony\Component\HttpFoundation\Response
            {
                throw new Error("wrong");
            }
            public function getContainer(): static
            {
                return $this;
            }
            public function get(string $name): static
            {
                return $name === "http_kernel" ? $this : throw new Error("asked for `$name`");
            }
        };';
        $app = $this->boot('symfony', ['public/index.php' => $front], 'symfony-runtime');
        $this->expectExceptionMessage('wrong');
        $app->handle(new Request());
    }

    public function testLaravelsKernelIsAskedTerminatedAndMadeAnew(): void
    {
        LaravelDouble::$calls = [];
        $app = $this->boot('laravel', ['bootstrap/app.php' => self::LARAVEL]);
        self::assertSame('[{"a":"1"},[],"false"]', $app->handle(new Request('GET', '/?a=1'))->body);
        $app->terminate();
        $app->reboot();
        self::assertSame([
            'make Illuminate\Contracts\Http\Kernel',
            'handle Illuminate\Http\Request',
            'terminate',
            'forget',
            'make Illuminate\Contracts\Http\Kernel',
        ], LaravelDouble::$calls);
    }

    /** Otherwise the values of one session would be in the next, even in another user's. */
    public function testASessionOfLaravelEndsWithItsRequest(): void
    {
        $service = new class () {
            /** @var list<string> */
            public array $calls = [];

            public function driver(): self
            {
                return $this;
            }

            /** @param array<mixed> $arguments */
            public function __call(string $name, array $arguments): void
            {
                $this->calls[] = $name;
            }
        };
        $app = new class ($service) {
            public function __construct(private object $service)
            {
            }

            public function resolved(string $name): bool
            {
                return $name === 'session';
            }

            public function make(string $name): object
            {
                return $this->service;
            }
        };
        Illuminate::clearRequestState($app);
        self::assertSame(['flush', 'regenerate'], $service->calls);
        Illuminate::clearRequestState(new \stdClass());
    }

    public function testLaravelsFilesNeedNotBeUploadsThatPhpTook(): void
    {
        $file = ['name' => 'n', 'type' => '', 'size' => 1, 'error' => 0, 'tmp_name' => '/t'];
        $request = new Request('POST', '/');
        $request->files = ['one' => $file, 'more' => [$file]];
        $app = $this->boot('laravel', ['bootstrap/app.php' => self::LARAVEL]);
        [, $files] = json_decode($app->handle($request)->body, true);
        $taken = ['name' => 'n', 'test' => true];
        self::assertSame(['one' => $taken, 'more' => [$taken]], $files);
    }

    public function testLumenIsAskedAndTerminated(): void
    {
        Application::$calls = [];
        $app = $this->boot('lumen', ['bootstrap/app.php' => self::LUMEN]);
        self::assertSame('lumen', $app->handle(new Request())->body);
        $app->terminate();
        $app->reboot();
        self::assertSame(['handle', 'terminate'], Application::$calls);
    }

    public function testWhatIsMissingIsSaid(): void
    {
        self::assertSame(
            'an app of kind `callable` needs `/handler.php`, which is not there',
            $this->failureOf('callable'),
        );
        self::assertSame(
            '`/handler.php` returns nothing that can be called',
            $this->failureOf('callable', ['handler.php' => '<?php return 7;']),
        );
        self::assertSame(
            '`/handler.php` returns no RequestHandlerInterface',
            $this->failureOf('psr15', ['handler.php' => '<?php return 7;']),
        );
        self::assertSame('workers run no app of kind `script`', $this->failureOf('script'));
        self::assertSame(
            'an app of kind `callable` has no adapter `psr7`',
            $this->failureOf('callable', ['handler.php' => '<?php return 7;'], 'psr7'),
        );
        self::assertSame(
            '`x` is no adapter; there are own, psr7, symfony-runtime',
            $this->failureOf('callable', [], 'x'),
        );
        self::assertSame(
            'adapter `psr7` needs `Symfony\Bridge\PsrHttpMessage\Factory\HttpFoundationFactory`: '
                . 'composer require symfony/psr-http-message-bridge',
            $this->failureOf('symfony', [], 'psr7'),
        );
        $this->expectExceptionMessage('it needs `No\Such`: composer require no/such');
        AppRequirements::checkType('No\Such', 'no/such', 'it');
    }
}
