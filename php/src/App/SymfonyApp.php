<?php

declare(strict_types=1);

namespace Stampede\Worker\App;

use Stampede\Worker\App;
use Stampede\Worker\AppRequirements;
use Stampede\Worker\Problem;
use Stampede\Worker\Request;
use Stampede\Worker\Response;
use Symfony\Component\HttpFoundation\Request as SymfonyRequest;
use Symfony\Component\HttpFoundation\Response as SymfonyResponse;
use Symfony\Component\HttpKernel\Event\ExceptionEvent;
use Symfony\Component\HttpKernel\Event\RequestEvent;
use Symfony\Component\HttpKernel\HttpKernelInterface;
use Symfony\Component\HttpKernel\KernelInterface;
use Symfony\Component\HttpKernel\RebootableInterface;
use Symfony\Component\HttpKernel\TerminableInterface;

/**
 * Runs a Symfony kernel: `App\Kernel`, or the one that symfony/runtime gets from the front
 * controller.
 */
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
        AppRequirements::checkType(HttpKernelInterface::class, 'symfony/http-kernel', 'an app of kind `symfony`');
        if ($adapter === 'symfony-runtime') {
            AppRequirements::checkType(self::RUNTIME, 'symfony/runtime', 'adapter `symfony-runtime`');
        }
        $this->http = new HttpFoundation($adapter);
    }

    public static function adapters(): array
    {
        return ['psr7', 'symfony-runtime'];
    }

    public function handle(Request $request): Response
    {
        $frameworkRequest = $this->http->request($request);
        $kernel = $this->kernel ?? throw new Problem('the kernel is not booted');
        try {
            $frameworkResponse = $kernel->handle($frameworkRequest);
        } catch (\Error $error) {
            $frameworkResponse = $this->renderError($frameworkRequest, $error);
        }
        if ($kernel instanceof TerminableInterface) {
            $this->finish = static fn () => $kernel->terminate($frameworkRequest, $frameworkResponse);
        }

        return $this->http->response($frameworkResponse);
    }

    /**
     * Returns the app's own page for an error that its kernel did not turn into an answer. Under
     * PHP-FPM, PHP's exception handler calls `HttpKernel::terminateWithException`, which makes the
     * page and sends it. Here the request is handled a second time: an exception comes at once, and
     * the error takes its place. So listeners see the same events as under PHP-FPM.
     */
    private function renderError(SymfonyRequest $frameworkRequest, \Error $error): SymfonyResponse
    {
        $container = $this->kernel instanceof KernelInterface ? $this->kernel->getContainer() : throw $error;
        $kernel = $container->get('http_kernel');
        // Symfony 6.2 and later, if the app enables it: listeners have already seen the error, and
        // none answered.
        if ((fn (): bool => (bool) ($this->handleAllThrowables ?? false))->call($kernel)) {
            throw $error;
        }
        $stand = new \Exception();
        $listeners = [
            'kernel.request' => static fn (RequestEvent $event)
                => $event->getRequest() === $frameworkRequest ? throw $stand : null,
            'kernel.exception' => static fn (ExceptionEvent $event)
                => $event->getThrowable() === $stand ? $event->setThrowable($error) : null,
        ];
        $events = $container->get('event_dispatcher');
        foreach ($listeners as $name => $listener) {
            $events->addListener($name, $listener, PHP_INT_MAX);
        }
        try {
            return $kernel->handle($frameworkRequest);
        } finally {
            foreach ($listeners as $name => $listener) {
                $events->removeListener($name, $listener);
            }
        }
    }

    /** Runs what was deferred. The kernel resets its services when the next request comes. */
    public function terminate(): void
    {
        [$finish, $this->finish] = [$this->finish, null];
        if ($finish) {
            $finish();
        }
    }

    public function reboot(): void
    {
        $kernel = $this->kernel;
        if ($kernel instanceof RebootableInterface) {
            self::leaveSession();
            $kernel->reboot(null);
        } else {
            $this->kernel = $this->adapter === 'symfony-runtime' ? $this->resolveKernel() : $this->createKernel();
        }
    }

    /** Ends PHP's own session, which outlives the services: the next request would get its id. */
    private static function leaveSession(): void
    {
        if (!function_exists('session_status')) {
            return;
        }
        if (session_status() === PHP_SESSION_ACTIVE) {
            session_abort();
        }
        $_SESSION = [];
        if (!headers_sent()) {
            session_id('');
        }
    }

    private function createKernel(): HttpKernelInterface
    {
        $class = $this->kernelClass();
        $dotenv = self::DOTENV;
        if ($this->hasSettings() && class_exists($dotenv)) {
            (new $dotenv())->bootEnv("{$this->directory}/.env");
        }

        return new $class(getenv('APP_ENV') ?: 'prod', (bool) getenv('APP_DEBUG'));
    }

    /**
     * Returns the class `Kernel` in the namespace that composer.json maps to `src/`.
     *
     * @return class-string<HttpKernelInterface>
     */
    private function kernelClass(): string
    {
        $file = "{$this->directory}/composer.json";
        /** @var array{autoload?: array{psr-4?: array<string, string|list<string>>}}|null $composer */
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
        /** @var class-string<HttpKernelInterface> $class */

        return $class;
    }

    /** Tells whether one of the files that `bootEnv` reads first exists: without any it fails. */
    private function hasSettings(): bool
    {
        $files = array_map(fn (string $end): string => "{$this->directory}/.env$end", ['', '.dist', '.local.php']);

        return array_filter($files, 'is_file') !== [];
    }

    private function resolveKernel(): HttpKernelInterface
    {
        $made = AppRequirements::loadFile($this->front, 'adapter `symfony-runtime`');
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
