<?php

// react/http 1, react/socket 1, react/event-loop 1, react/promise 3, and php-pm/php-pm 2, which
// uses them

namespace Evenement {
    interface EventEmitterInterface
    {
        /** @return static */
        public function on(string $event, callable $listener);
        /** @param array<mixed> $arguments */
        public function emit(string $event, array $arguments = []): void;
    }

    class EventEmitter implements EventEmitterInterface
    {
        public function on(string $event, callable $listener)
        {
        }

        public function emit(string $event, array $arguments = []): void
        {
        }
    }
}

namespace React\EventLoop {
    interface TimerInterface
    {
    }

    interface LoopInterface
    {
    }

    final class Loop
    {
        public static function get(): LoopInterface
        {
        }

        /**
         * @param resource $stream
         * @param callable(resource): void $listener
         */
        public static function addReadStream($stream, callable $listener): void
        {
        }

        /** @param resource $stream */
        public static function removeReadStream($stream): void
        {
        }

        /**
         * @param int|float $interval
         * @param callable(): void $callback
         */
        public static function addTimer($interval, callable $callback): TimerInterface
        {
        }

        public static function cancelTimer(TimerInterface $timer): void
        {
        }

        /** @param callable(): void $listener */
        public static function futureTick(callable $listener): void
        {
        }

        /** @param callable(int): void $listener */
        public static function addSignal(int $signal, callable $listener): void
        {
        }

        public static function run(): void
        {
        }

        public static function stop(): void
        {
        }
    }
}

namespace React\Stream {
    use Evenement\EventEmitterInterface;

    interface ReadableStreamInterface extends EventEmitterInterface
    {
        public function close(): void;
    }

    interface DuplexStreamInterface extends ReadableStreamInterface
    {
        public function end(mixed $data = null): void;
    }
}

namespace React\Socket {
    use Evenement\EventEmitter;
    use Evenement\EventEmitterInterface;
    use React\EventLoop\LoopInterface;
    use React\Stream\DuplexStreamInterface;

    interface ServerInterface extends EventEmitterInterface
    {
        public function getAddress(): ?string;
        public function pause(): void;
        public function resume(): void;
        public function close(): void;
    }

    interface ConnectionInterface extends DuplexStreamInterface
    {
    }

    class Connection extends EventEmitter implements ConnectionInterface
    {
        /** @var resource */
        public $stream;

        /** @param resource $resource */
        public function __construct($resource, LoopInterface $loop)
        {
        }

        public function close(): void
        {
        }

        public function end(mixed $data = null): void
        {
        }
    }
}

namespace React\Promise {
    final class Promise
    {
        /**
         * @param callable(callable(mixed): void, callable(\Throwable): void): void $resolver
         * @param ?callable(callable(mixed): void, callable(\Throwable): void): void $canceller
         */
        public function __construct(callable $resolver, ?callable $canceller = null)
        {
        }
    }
}

namespace React\Http\Middleware {
    final class StreamingRequestMiddleware
    {
    }
}

namespace React\Http\Message {
    use Psr\Http\Message\ResponseInterface;

    final class Response implements ResponseInterface
    {
        /** @param array<string, string|array<string>> $headers */
        public function __construct(int $status = 200, array $headers = [], string $body = '')
        {
        }
    }
}

namespace React\Http {
    use Evenement\EventEmitter;
    use React\Socket\ServerInterface;

    final class HttpServer extends EventEmitter
    {
        /** @param object ...$handlers middleware and, last, what answers */
        public function __construct(object ...$handlers)
        {
        }

        public function listen(ServerInterface $socket): void
        {
        }
    }
}

namespace PHPPM\Bridges {
    use Psr\Http\Server\RequestHandlerInterface;

    interface BridgeInterface extends RequestHandlerInterface
    {
        /**
         * @param ?string $appBootstrap
         * @param string $appenv
         * @param bool $debug
         * @return void
         */
        public function bootstrap($appBootstrap, $appenv, $debug);
    }
}

namespace PHPPM {
    use Symfony\Component\Console\Output\OutputInterface;

    final class ProcessManager
    {
        public function __construct(
            OutputInterface $output,
            int $port = 8080,
            string $host = '127.0.0.1',
            int $slaveCount = 8,
        ) {
        }

        /** @param class-string $bridge */
        public function setBridge(string $bridge): void
        {
        }

        public function setAppBootstrap(string $appBootstrap): void
        {
        }

        public function setAppEnv(?string $appenv): void
        {
        }

        public function setDebug(bool $debug): void
        {
        }

        public function setLogging(bool $logging): void
        {
        }

        public function setPhpCgiExecutable(string $phpCgiExecutable): void
        {
        }

        public function setSocketPath(string $socketPath): void
        {
        }

        public function setPidFile(string $pidFile): void
        {
        }

        public function setReloadTimeout(int $reloadTimeout): void
        {
        }

        public function setStaticDirectory(string $staticDirectory): void
        {
        }

        public function setPopulateServer(bool $populateServer): void
        {
        }

        public function setRequestBodyBuffer(string $requestBodyBuffer): void
        {
        }

        public function setMaxRequests(int $maxRequests): void
        {
        }

        public function setMaxExecutionTime(int $maxExecutionTime): void
        {
        }

        public function setMemoryLimit(int $memoryLimit): void
        {
        }

        public function run(): void
        {
        }
    }
}
