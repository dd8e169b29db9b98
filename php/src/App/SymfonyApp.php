<?php

declare(strict_types=1);

namespace Stampede\Worker\App;

use Stampede\Worker\App;
use Stampede\Worker\Needs;
use Stampede\Worker\Problem;
use Stampede\Worker\Request;
use Stampede\Worker\Response;
use Symfony\Component\HttpFoundation\Request as SymfonyRequest;
use Symfony\Component\HttpFoundation\Response as SymfonyResponse;
use Symfony\Component\HttpKernel\HttpKernelInterface;
use Symfony\Component\HttpKernel\KernelInterface;
use Symfony\Component\HttpKernel\RebootableInterface;
use Symfony\Component\HttpKernel\TerminableInterface;

/** A Symfony kernel: `App\Kernel`, or what the front controller gives symfony/runtime. */
final class SymfonyApp implements App
{
    private const RUNTIME = 'Symfony\Component\Runtime\SymfonyRuntime';
    private const DOTENV = 'Symfony\Component\Dotenv\Dotenv';
    private ?HttpKernelInterface $kernel = null;
    private HttpFoundation $http;
    private ?\Closure $finish = null;

    public function __construct(
        private string $adapter,
        private string $directory,
        private string $front,
    ) {
        Needs::type(HttpKernelInterface::class, 'symfony/http-kernel', 'an app of kind `symfony`');
        if ($adapter === 'symfony-runtime') {
            Needs::type(self::RUNTIME, 'symfony/runtime', 'adapter `symfony-runtime`');
        }
        $this->http = new HttpFoundation($adapter);
    }

    public static function adapters(): array
    {
        return ['psr7', 'symfony-runtime'];
    }

    public function handle(Request $request): Response
    {
        $asked = $this->http->request($request);
        $kernel = $this->kernel;
        try {
            $answered = $kernel->handle($asked);
        } catch (\Error $error) {
            $answered = $this->failed($asked, $error);
        }
        if ($kernel instanceof TerminableInterface) {
            $this->finish = static fn () => $kernel->terminate($asked, $answered);
        }

        return $this->http->response($answered);
    }

    /**
     * The app's own page for an error that its kernel did not turn into one. Under PHP-FPM PHP's exception handler
     * has `HttpKernel::terminateWithException` do so, which also sends it. Here the request is handled once more,
     * from which an exception comes at once, and the error in its place: listeners see what they see there.
     */
    private function failed(SymfonyRequest $asked, \Error $error): SymfonyResponse
    {
        $container = $this->kernel instanceof KernelInterface ? $this->kernel->getContainer() : throw $error;
        $kernel = $container->get('http_kernel');
        // Since Symfony 6.2, where the app wishes so: listeners were told of it then, and none had an answer.
        if ((fn (): bool => $this->handleAllThrowables ?? false)->call($kernel)) {
            throw $error;
        }
        $stand = new \Exception();
        $listeners = [
            'kernel.request' => static fn (object $event) => $event->getRequest() === $asked ? throw $stand : null,
            'kernel.exception' => static fn (object $event)
                => $event->getThrowable() === $stand ? $event->setThrowable($error) : null,
        ];
        $events = $container->get('event_dispatcher');
        foreach ($listeners as $name => $listener) {
            $events->addListener($name, $listener, PHP_INT_MAX);
        }
        try {
            return $kernel->handle($asked);
        } finally {
            foreach ($listeners as $name => $listener) {
                $events->removeListener($name, $listener);
            }
        }
    }

    /** The kernel itself resets its services when the next request comes. */
    public function terminate(): void
    {
        [$finish, $this->finish] = [$this->finish, null];
        $finish && $finish();
    }

    public function reboot(): void
    {
        if ($this->kernel instanceof RebootableInterface) {
            self::leaveSession();
            $this->kernel->reboot(null);
        } else {
            $this->kernel = $this->adapter === 'symfony-runtime' ? $this->resolved() : $this->own();
        }
    }

    /** PHP's own session outlives the services that would leave it: the next would have its id. */
    private static function leaveSession(): void
    {
        if (!function_exists('session_status')) {
            return;
        }
        session_status() === PHP_SESSION_ACTIVE && session_abort();
        $_SESSION = [];
        headers_sent() || session_id('');
    }

    private function own(): HttpKernelInterface
    {
        $class = $this->kernelClass();
        $dotenv = self::DOTENV;
        if ($this->hasSettings() && class_exists($dotenv)) {
            (new $dotenv())->bootEnv("{$this->directory}/.env");
        }

        return new $class(getenv('APP_ENV') ?: 'prod', (bool) getenv('APP_DEBUG'));
    }

    /** `Kernel` of the namespace that composer.json gives to `src/`. */
    private function kernelClass(): string
    {
        $file = "{$this->directory}/composer.json";
        $composer = is_file($file) ? json_decode((string) file_get_contents($file), true) : null;
        $spaces = $composer['autoload']['psr-4'] ?? [];
        $class = 'App\Kernel';
        foreach ($spaces as $space => $directories) {
            foreach ((array) $directories as $directory) {
                $class = trim((string) $directory, './') === 'src' ? "{$space}Kernel" : $class;
            }
        }
        if (!class_exists($class)) {
            throw new Problem("an app of kind `symfony` needs its kernel, `$class` of `src/Kernel.php`");
        }

        return $class;
    }

    /** The files that `bootEnv` begins with; it fails where there is none. */
    private function hasSettings(): bool
    {
        $files = array_map(fn (string $end): string => "{$this->directory}/.env$end", ['', '.dist', '.local.php']);

        return array_filter($files, 'is_file') !== [];
    }

    private function resolved(): HttpKernelInterface
    {
        $made = Needs::file($this->front, 'adapter `symfony-runtime`');
        if (!$made instanceof \Closure) {
            throw new Problem("`{$this->front}` returns no closure for symfony/runtime");
        }
        $class = self::RUNTIME;
        $runtime = new $class(['project_dir' => $this->directory, 'disable_dotenv' => !$this->hasSettings()]);
        [$make, $arguments] = $runtime->getResolver($made)->resolve();
        $kernel = $make(...$arguments);
        if (!$kernel instanceof HttpKernelInterface) {
            throw new Problem("the closure of `{$this->front}` makes no kernel");
        }

        return $kernel;
    }
}
