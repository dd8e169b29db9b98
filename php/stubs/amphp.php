<?php

// amphp/http-server 3, amphp/socket 2, revolt/event-loop 1

namespace Revolt {
    use Revolt\EventLoop\Driver;
    use Revolt\EventLoop\Suspension;

    final class EventLoop
    {
        public static function queue(\Closure $closure, mixed ...$args): void
        {
        }

        public static function delay(float $delay, \Closure $closure): string
        {
        }

        /** @param \Closure(string, resource): void $closure */
        public static function onReadable(mixed $stream, \Closure $closure): string
        {
        }

        public static function onSignal(int $signal, \Closure $closure): string
        {
        }

        public static function cancel(string $callbackId): void
        {
        }

        /** @return Suspension<mixed> */
        public static function getSuspension(): Suspension
        {
        }

        public static function getDriver(): Driver
        {
        }

        public static function run(): void
        {
        }
    }
}

namespace Revolt\EventLoop {
    interface Driver
    {
        public function stop(): void;
    }

    /** @template T */
    interface Suspension
    {
        /** @param T $value */
        public function resume(mixed $value = null): void;
        /** @return T */
        public function suspend(): mixed;
    }
}

namespace Amp {
    interface Cancellation
    {
    }

    interface Closable
    {
        public function close(): void;
        public function isClosed(): bool;
        /** @param \Closure(): void $onClose */
        public function onClose(\Closure $onClose): void;
    }
}

namespace Amp\Socket {
    use Amp\Cancellation;
    use Amp\Closable;

    interface SocketAddress
    {
    }

    interface Socket extends Closable
    {
    }

    interface ServerSocket extends Closable
    {
        public function accept(?Cancellation $cancellation = null): ?Socket;
        public function getAddress(): SocketAddress;
        public function getBindContext(): BindContext;
    }

    interface ServerSocketFactory
    {
        public function listen(SocketAddress|string $address, ?BindContext $bindContext = null): ServerSocket;
    }

    final class BindContext
    {
    }

    final class InternetAddress implements SocketAddress
    {
        public function getAddress(): string
        {
        }

        public function getPort(): int
        {
        }
    }

    abstract class ResourceSocket implements Socket
    {
        /** @param resource $resource */
        public static function fromServerSocket($resource): self
        {
        }

        /** @return resource|object|null */
        public function getResource()
        {
        }
    }
}

namespace Amp\Socket\SocketAddress {
    /** @param resource $resource */
    function fromResourceLocal($resource): \Amp\Socket\SocketAddress
    {
    }
}

namespace Amp\Http\Server\Driver {
    use Amp\Closable;
    use Amp\Socket\Socket;
    use Amp\Socket\SocketAddress;
    use Psr\Log\AbstractLogger;

    interface Client extends Closable
    {
        public function getId(): int;
        public function getRemoteAddress(): SocketAddress;
    }

    interface ClientFactory
    {
        public function createClient(Socket $socket): ?Client;
    }

    final class SocketClientFactory implements ClientFactory
    {
        public function __construct(AbstractLogger $logger)
        {
        }

        public function createClient(Socket $socket): ?Client
        {
        }
    }

    interface HttpDriverFactory
    {
    }

    final class DefaultHttpDriverFactory implements HttpDriverFactory
    {
        public function __construct(
            AbstractLogger $logger,
            int $streamTimeout = 15,
            int $connectionTimeout = 60,
            int $headerSizeLimit = 32768,
            int $bodySizeLimit = 131072,
            bool $http2Enabled = true,
        ) {
        }
    }
}

namespace Amp\Http\Server\RequestHandler {
    use Amp\Http\Server\Request;
    use Amp\Http\Server\Response;

    final class ClosureRequestHandler implements \Amp\Http\Server\RequestHandler
    {
        /** @param \Closure(Request): Response $closure */
        public function __construct(\Closure $closure)
        {
        }
    }
}

namespace Amp\Http\Server {
    use Amp\Cancellation;
    use Amp\Http\Server\Driver\Client;
    use Amp\Http\Server\Driver\ClientFactory;
    use Amp\Http\Server\Driver\HttpDriverFactory;
    use Amp\Socket\BindContext;
    use Amp\Socket\ServerSocketFactory;
    use Amp\Socket\SocketAddress;
    use Psr\Http\Message\UriInterface;
    use Psr\Log\AbstractLogger;

    interface RequestHandler
    {
    }

    interface ErrorHandler
    {
    }

    final class DefaultErrorHandler implements ErrorHandler
    {
    }

    final class RequestBody
    {
        public function read(?Cancellation $cancellation = null): ?string
        {
        }
    }

    final class Request
    {
        public function getClient(): Client
        {
        }

        public function getMethod(): string
        {
        }

        public function getUri(): UriInterface
        {
        }

        public function getProtocolVersion(): string
        {
        }

        /** @return array<string, list<string>> */
        public function getHeaders(): array
        {
        }

        public function getBody(): RequestBody
        {
        }
    }

    final class Response
    {
        /** @param array<string, string|array<string>> $headers */
        public function __construct(int $status = 200, array $headers = [], string $body = '')
        {
        }
    }

    final class SocketHttpServer
    {
        /**
         * @param array<mixed> $middleware
         * @param ?array<string> $allowedMethods
         */
        public function __construct(
            AbstractLogger $logger,
            ServerSocketFactory $serverSocketFactory,
            ClientFactory $clientFactory,
            array $middleware = [],
            ?array $allowedMethods = ['GET'],
            ?HttpDriverFactory $httpDriverFactory = null,
        ) {
        }

        public function expose(SocketAddress|string $socketAddress, ?BindContext $bindContext = null): void
        {
        }

        public function start(RequestHandler $requestHandler, ErrorHandler $errorHandler): void
        {
        }
    }
}
