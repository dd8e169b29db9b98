<?php

// Symfony 5.4 to 7, Laravel 8 to 12 with Octane, Lumen 8 to 11

namespace Symfony\Component\Console\Output {
    interface OutputInterface
    {
    }

    class StreamOutput implements OutputInterface
    {
        /** @param resource $stream */
        public function __construct($stream)
        {
        }
    }
}

namespace Symfony\Component\HttpFoundation {
    class FileBag
    {
        /** @return array<mixed> */
        public function all(): array
        {
        }

        /** @param array<mixed> $files */
        public function replace(array $files = []): void
        {
        }
    }

    class HeaderBag
    {
        /** @return array<string, list<?string>> */
        public function all(): array
        {
        }
    }

    class Cookie implements \Stringable
    {
        public function __toString(): string
        {
        }
    }

    class ResponseHeaderBag
    {
        /** @return array<string, list<?string>> */
        public function allPreserveCaseWithoutCookies(): array
        {
        }

        /** @return list<Cookie> */
        public function getCookies(): array
        {
        }
    }

    class Request
    {
        public FileBag $files;
        public HeaderBag $headers;

        /**
         * @param array<mixed> $query
         * @param array<mixed> $request
         * @param array<mixed> $attributes
         * @param array<mixed> $cookies
         * @param array<mixed> $files
         * @param array<mixed> $server
         * @param string|resource|null $content
         */
        public function __construct(
            array $query = [],
            array $request = [],
            array $attributes = [],
            array $cookies = [],
            array $files = [],
            array $server = [],
            $content = null,
        ) {
        }

        public function getRequestUri(): string
        {
        }
    }

    class Response
    {
        public ResponseHeaderBag $headers;

        public function getContent(): string|false
        {
        }

        /** @return static */
        public function sendContent()
        {
        }

        public function getStatusCode(): int
        {
        }
    }
}

namespace Symfony\Component\HttpFoundation\File {
    class UploadedFile
    {
        public function __construct(
            string $path,
            string $originalName,
            ?string $mimeType = null,
            ?int $error = null,
            bool $test = false,
        ) {
        }
    }
}

namespace Symfony\Bridge\PsrHttpMessage\Factory {
    use Psr\Http\Message\ResponseFactoryInterface;
    use Psr\Http\Message\ResponseInterface;
    use Psr\Http\Message\ServerRequestFactoryInterface;
    use Psr\Http\Message\ServerRequestInterface;
    use Psr\Http\Message\StreamFactoryInterface;
    use Psr\Http\Message\UploadedFileFactoryInterface;
    use Symfony\Component\HttpFoundation\Request;
    use Symfony\Component\HttpFoundation\Response;

    class HttpFoundationFactory
    {
        public function createRequest(ServerRequestInterface $psrRequest): Request
        {
        }
    }

    class PsrHttpFactory
    {
        public function __construct(
            ServerRequestFactoryInterface $serverRequestFactory,
            StreamFactoryInterface $streamFactory,
            UploadedFileFactoryInterface $uploadedFileFactory,
            ResponseFactoryInterface $responseFactory,
        ) {
        }

        public function createResponse(Response $symfonyResponse): ResponseInterface
        {
        }
    }
}

namespace Symfony\Component\DependencyInjection {
    use Symfony\Component\EventDispatcher\EventDispatcherInterface;
    use Symfony\Component\HttpKernel\HttpKernel;

    interface ContainerInterface
    {
        /**
         * @return ($id is 'http_kernel' ? HttpKernel :
         *     ($id is 'event_dispatcher' ? EventDispatcherInterface : ?object))
         */
        public function get(string $id): ?object;
    }
}

namespace Symfony\Component\EventDispatcher {
    interface EventDispatcherInterface
    {
        public function addListener(string $eventName, callable $listener, int $priority = 0): void;
        public function removeListener(string $eventName, callable $listener): void;
    }
}

namespace Symfony\Component\Dotenv {
    class Dotenv
    {
        public function bootEnv(string $path): void
        {
        }
    }
}

namespace Symfony\Component\HttpKernel {
    use Symfony\Component\DependencyInjection\ContainerInterface;
    use Symfony\Component\HttpFoundation\Request;
    use Symfony\Component\HttpFoundation\Response;

    interface HttpKernelInterface
    {
        public function handle(Request $request, int $type = 1, bool $catch = true): Response;
    }

    interface KernelInterface extends HttpKernelInterface
    {
        public function getContainer(): ContainerInterface;
    }

    interface TerminableInterface
    {
        public function terminate(Request $request, Response $response): void;
    }

    interface RebootableInterface
    {
        public function reboot(?string $warmupDir): void;
    }

    class HttpKernel implements HttpKernelInterface
    {
        public function handle(Request $request, int $type = 1, bool $catch = true): Response
        {
        }
    }
}

namespace Symfony\Component\HttpKernel\Event {
    use Symfony\Component\HttpFoundation\Request;

    class RequestEvent
    {
        public function getRequest(): Request
        {
        }
    }

    class ExceptionEvent extends RequestEvent
    {
        public function getThrowable(): \Throwable
        {
        }

        public function setThrowable(\Throwable $exception): void
        {
        }
    }
}

namespace Symfony\Component\Runtime {
    class SymfonyRuntime
    {
        /** @param array<string, mixed> $options */
        public function __construct(array $options = [])
        {
        }

        public function getResolver(callable $callable): ResolverInterface
        {
        }
    }

    interface ResolverInterface
    {
        /** @return array{callable, array<mixed>} */
        public function resolve(): array;
    }
}

namespace Illuminate\Http {
    class Request extends \Symfony\Component\HttpFoundation\Request
    {
        /** @return static */
        public static function createFromBase(\Symfony\Component\HttpFoundation\Request $request)
        {
        }
    }

    class Response extends \Symfony\Component\HttpFoundation\Response
    {
        /** @param array<string, list<string>> $headers */
        public function __construct(mixed $content = '', int $status = 200, array $headers = [])
        {
        }
    }

    class UploadedFile extends \Symfony\Component\HttpFoundation\File\UploadedFile
    {
        /** @return static */
        public static function createFromBase(
            \Symfony\Component\HttpFoundation\File\UploadedFile $file,
            bool $test = false,
        ) {
        }
    }
}

namespace Illuminate\Contracts\Http {
    use Symfony\Component\HttpFoundation\Request;
    use Symfony\Component\HttpFoundation\Response;

    interface Kernel
    {
        /**
         * @param Request $request
         * @return Response
         */
        public function handle($request);
        /**
         * @param Request $request
         * @param Response $response
         */
        public function terminate($request, $response): void;
    }
}

namespace Illuminate\Contracts\Console {
    interface Kernel
    {
        public function bootstrap(): void;
    }
}

namespace Illuminate\Contracts\Config {
    interface Repository
    {
        public function get(string $key, mixed $default = null): mixed;
    }
}

namespace Illuminate\Contracts\Events {
    interface Dispatcher
    {
        /**
         * @template T of object
         * @param class-string<T> $events
         * @param \Closure(T): void $listener
         */
        public function listen(string $events, \Closure $listener): void;
    }
}

namespace Illuminate\Contracts\Session {
    interface Session
    {
        public function flush(): void;
        public function regenerate(bool $destroy = false): bool;
    }
}

namespace Illuminate\Session {
    use Illuminate\Contracts\Session\Session;

    class SessionManager
    {
        public function driver(?string $driver = null): Session
        {
        }
    }
}

namespace Illuminate\Container {
    class Container
    {
        /**
         * @template T of object
         * @param class-string<T>|'config'|'events'|'octane'|'auth'|'cookie'|'session' $abstract
         * @return (
         *     $abstract is 'config' ? \Illuminate\Contracts\Config\Repository :
         *     ($abstract is 'events' ? \Illuminate\Contracts\Events\Dispatcher :
         *     ($abstract is 'octane' ? \Laravel\Octane\Octane :
         *     ($abstract is 'auth'|'cookie'|'session' ? object : T)))
         * )
         */
        public function make(string $abstract)
        {
        }

        public function bound(string $abstract): bool
        {
        }

        public function instance(string $abstract, mixed $instance): mixed
        {
        }
    }
}

namespace Illuminate\Foundation {
    class Application extends \Illuminate\Container\Container
    {
        /** @param callable(self): void $callback */
        public function booted(callable $callback): void
        {
        }

        public function publicPath(string $path = ''): string
        {
        }

        public function storagePath(string $path = ''): string
        {
        }
    }
}

namespace Laravel\Octane {
    use Illuminate\Http\Request;
    use Symfony\Component\HttpFoundation\Response;

    class Octane
    {
        /** @param \Closure(Request): Response $callback */
        public function route(string $method, string $uri, \Closure $callback): void
        {
        }
    }
}

namespace Laravel\Octane\Events {
    use Illuminate\Foundation\Application;
    use Illuminate\Http\Request;
    use Symfony\Component\HttpFoundation\Response;

    class RequestReceived
    {
        public Application $app;
        public Application $sandbox;
        public Request $request;
    }

    class WorkerStopping
    {
        public Application $app;
    }

    class RequestTerminated
    {
        public Application $app;
        public Application $sandbox;
        public Request $request;
        public Response $response;
    }
}

namespace Laravel\Octane\Swoole {
    class WorkerState
    {
        public \Swoole\Http\Server $server;
        public int $workerId;
    }
}

namespace Laravel\Lumen {
    use Symfony\Component\HttpFoundation\Request;
    use Symfony\Component\HttpFoundation\Response;

    class Application extends \Illuminate\Container\Container
    {
        public function handle(Request $request): Response
        {
        }
    }
}

namespace Laravel\Lumen\Http {
    class Request extends \Illuminate\Http\Request
    {
    }
}
