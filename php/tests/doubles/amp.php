<?php

declare(strict_types=1);

// A small loop and a small HTTP server with those public interfaces of AMPHP that are used. There
// are no fibers: a wait runs the loop until it is over.

namespace Revolt {
    final class EventLoop
    {
        /** @var array<string, array{resource, callable}> */
        private static array $read = [];
        /** @var array<string, array{float, callable}> */
        private static array $timers = [];
        /** @var list<callable> */
        private static array $queue = [];
        private static int $next = 0;
        private static bool $stopped = false;

        public static function queue(callable $callback): void
        {
            self::$queue[] = $callback;
        }

        public static function delay(float $wait, callable $callback): string
        {
            self::$timers[$id = (string) self::$next++] = [microtime(true) + $wait, $callback];

            return "t$id";
        }

        public static function onReadable($stream, callable $callback): string
        {
            self::$read[$id = (string) self::$next++] = [$stream, $callback];

            return "t$id";
        }

        public static function onSignal(int $signal, callable $callback): string
        {
            pcntl_signal($signal, $callback);

            return '';
        }

        public static function cancel(string $id): void
        {
            unset(self::$read[substr($id, 1)], self::$timers[substr($id, 1)]);
        }

        public static function getSuspension(): EventLoop\Suspension
        {
            return new EventLoop\Suspension();
        }

        public static function getDriver(): object
        {
            return new class {
                public function stop(): void
                {
                    EventLoop::stop();
                }
            };
        }

        public static function stop(): void
        {
            self::$stopped = true;
        }

        public static function run(): void
        {
            try {
                while (true) {
                    self::turn();
                }
            } catch (EventLoop\Stopped) {
            }
        }

        public static function turn(): void
        {
            pcntl_signal_dispatch();
            if (self::$stopped) {
                throw new EventLoop\Stopped();
            }
            $queue = self::$queue;
            self::$queue = [];
            array_map(static fn (callable $one) => $one(), $queue);
            foreach (self::$timers as $id => [$due, $callback]) {
                if ($due <= microtime(true)) {
                    unset(self::$timers[$id]);
                    $callback();
                }
            }
            $ready = array_map(static fn (array $one) => $one[0], self::$read);
            [$write, $except] = [null, null];
            if ($ready !== [] && @stream_select($ready, $write, $except, 0, 1000)) {
                foreach (array_keys($ready) as $id) {
                    isset(self::$read[$id]) && (self::$read[$id][1])("t$id");
                }
            }
        }
    }
}

namespace Revolt\EventLoop {
    final class Stopped extends \Exception
    {
    }

    final class Suspension
    {
        private bool $resumed = false;

        public function resume(): void
        {
            $this->resumed = true;
        }

        public function suspend(): void
        {
            while (!$this->resumed) {
                \Revolt\EventLoop::turn();
            }
        }
    }
}

namespace Psr\Log {
    abstract class AbstractLogger
    {
    }

    final class LogLevel
    {
        public const DEBUG = 'debug';
        public const INFO = 'info';
        public const NOTICE = 'notice';
    }
}

namespace Amp {
    interface Cancellation
    {
    }
}

namespace Amp\Socket {
    interface SocketAddress
    {
    }
    interface ServerSocket
    {
    }
    interface ServerSocketFactory
    {
    }
    interface Socket
    {
    }

    final class BindContext
    {
    }

    final class InternetAddress implements SocketAddress
    {
        public function __construct(private string $address)
        {
        }

        public function getAddress(): string
        {
            return $this->address;
        }

        public function getPort(): int
        {
            return 4711;
        }
    }

    final class ResourceSocket implements Socket
    {
        public function __construct(private $stream)
        {
        }

        public static function fromServerSocket($stream): self
        {
            return new self($stream);
        }

        public function getResource()
        {
            return $this->stream;
        }
    }
}

namespace Amp\Socket\SocketAddress {
    function fromResourceLocal($stream): \Amp\Socket\SocketAddress
    {
        return new \Amp\Socket\InternetAddress((string) stream_socket_get_name($stream, false));
    }
}

namespace Amp\Http\Server\Driver {
    use Amp\Socket\Socket;

    interface ClientFactory
    {
        public function createClient(Socket $socket): ?Client;
    }

    final class Client
    {
        /** @var list<callable> */
        private array $onClose = [];
        public string $callback = '';

        public function __construct(public $stream)
        {
        }

        public function getId(): int
        {
            return spl_object_id($this);
        }

        public function getRemoteAddress(): \Amp\Socket\SocketAddress
        {
            return new \Amp\Socket\InternetAddress('127.0.0.1');
        }

        public function onClose(callable $callback): void
        {
            $this->onClose[] = $callback;
        }

        public function close(): void
        {
            if (is_resource($this->stream)) {
                \Revolt\EventLoop::cancel($this->callback);
                fclose($this->stream);
                array_map(static fn (callable $one) => $one(), $this->onClose);
            }
        }
    }

    final class SocketClientFactory implements ClientFactory
    {
        public function __construct(object $log)
        {
        }

        public function createClient(Socket $socket): ?Client
        {
            return new Client($socket->getResource());
        }
    }

    final class DefaultHttpDriverFactory
    {
        public function __construct(
            object $log,
            public int $streamTimeout,
            public int $bodySizeLimit,
            public bool $http2Enabled,
        ) {
        }
    }
}

namespace Amp\Http\Server\RequestHandler {
    final class ClosureRequestHandler
    {
        public function __construct(public \Closure $closure)
        {
        }
    }
}

namespace Amp\Http\Server {
    use Amp\Http\Server\Driver\Client;

    final class DefaultErrorHandler
    {
    }

    /** A request whose methods return the values that it was made with, by name. */
    final class Request
    {
        /** @param array<string, mixed> $values */
        public function __construct(private array $values)
        {
        }

        /** @param list<mixed> $arguments */
        public function __call(string $name, array $arguments): mixed
        {
            return $this->values[$name];
        }
    }

    /** A path, a query or a body. */
    final class Text
    {
        public function __construct(private string $path, private string $query = '')
        {
        }

        public function getPath(): string
        {
            return $this->path;
        }

        public function getQuery(): string
        {
            return $this->query;
        }

        public function read(): ?string
        {
            [$piece, $this->path] = [$this->path, ''];

            return $piece === '' ? null : $piece;
        }
    }

    final class Response
    {
        /** @param array<string, list<string>> $headers */
        public function __construct(public int $status, public array $headers, public string $body)
        {
        }
    }

    /** Requests without a body. */
    final class SocketHttpServer
    {
        private string $address = '';

        public function __construct(
            object $log,
            private object $listening,
            private object $clients,
            array $middleware,
            ?array $methods,
            object $drivers,
        ) {
        }

        public function expose(string $address): void
        {
            $this->address = $address;
        }

        public function start(RequestHandler\ClosureRequestHandler $handler, object $errors): void
        {
            $server = $this->listening->listen($this->address);
            \Revolt\EventLoop::queue(function () use ($server, $handler): void {
                while ($socket = $server->accept()) {
                    $client = $this->clients->createClient($socket);
                    $answer = fn () => $this->answer($client, $handler->closure);
                    $client->callback = \Revolt\EventLoop::onReadable($client->stream, $answer);
                }
            });
        }

        private function answer(Client $client, \Closure $handler): void
        {
            $data = (string) fread($client->stream, 1 << 16);
            if ($data === '') {
                $client->close();

                return;
            }
            [$method, $target] = explode(' ', $data);
            $response = $handler(new Request([
                'getMethod' => $method,
                'getUri' => new Text($target),
                'getHeaders' => [],
                'getBody' => new Text(''),
                'getProtocolVersion' => '1.1',
                'getClient' => $client,
            ]));
            if (!is_resource($client->stream)) {
                return;
            }
            $head = '';
            foreach ($response->headers as $name => [$value]) {
                $head .= "$name: $value\r\n";
            }
            fwrite($client->stream, "HTTP/1.1 {$response->status} \r\n$head\r\n{$response->body}");
            if (($response->headers['Connection'] ?? []) === ['close']) {
                $client->close();
            }
        }
    }
}
