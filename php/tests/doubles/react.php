<?php

declare(strict_types=1);

// A small loop and a small HTTP server with those public interfaces of ReactPHP that are used.

namespace Evenement {
    class EventEmitter
    {
        /** @var array<string, list<callable>> */
        private array $listeners = [];

        public function on(string $event, callable $listener): void
        {
            $this->listeners[$event][] = $listener;
        }

        /** @param list<mixed> $arguments */
        public function emit(string $event, array $arguments = []): void
        {
            foreach ($this->listeners[$event] ?? [] as $listener) {
                $listener(...$arguments);
            }
        }
    }
}

namespace React\EventLoop {
    interface TimerInterface
    {
    }

    final class Timer implements TimerInterface
    {
        public function __construct(public float $due, public $callback)
        {
        }
    }

    final class Loop
    {
        /** @var array<int, array{resource, callable}> */
        private static array $read = [];
        /** @var array<int, Timer> */
        private static array $timers = [];
        /** @var list<callable> */
        private static array $ticks = [];
        private static bool $running = false;

        public static function get(): self
        {
            return new self();
        }

        public static function addReadStream($stream, callable $callback): void
        {
            self::$read[(int) $stream] = [$stream, $callback];
        }

        public static function removeReadStream($stream): void
        {
            unset(self::$read[(int) $stream]);
        }

        public static function addTimer(float $wait, callable $callback): TimerInterface
        {
            $timer = new Timer(microtime(true) + $wait, $callback);

            return self::$timers[spl_object_id($timer)] = $timer;
        }

        public static function cancelTimer(TimerInterface $timer): void
        {
            unset(self::$timers[spl_object_id($timer)]);
        }

        public static function futureTick(callable $callback): void
        {
            self::$ticks[] = $callback;
        }

        public static function addSignal(int $signal, callable $callback): void
        {
            pcntl_signal($signal, $callback);
        }

        public static function stop(): void
        {
            self::$running = false;
        }

        public static function run(): void
        {
            for (self::$running = true; self::$running; pcntl_signal_dispatch()) {
                $ticks = self::$ticks;
                self::$ticks = [];
                array_map(static fn (callable $tick) => $tick(), $ticks);
                foreach (self::$timers as $timer) {
                    if ($timer->due <= microtime(true)) {
                        self::cancelTimer($timer);
                        ($timer->callback)();
                    }
                }
                $ready = array_map(static fn (array $one) => $one[0], self::$read);
                [$write, $except] = [null, null];
                if ($ready !== [] && @stream_select($ready, $write, $except, 0, 1000)) {
                    foreach (array_keys($ready) as $at) {
                        isset(self::$read[$at]) && (self::$read[$at][1])(self::$read[$at][0]);
                    }
                }
            }
        }
    }
}

namespace React\Socket {
    use React\EventLoop\Loop;

    interface ServerInterface
    {
    }

    interface ConnectionInterface
    {
    }

    final class Connection extends \Evenement\EventEmitter implements ConnectionInterface
    {
        public function __construct(public $stream, Loop $loop)
        {
            stream_set_blocking($stream, false);
            Loop::addReadStream($stream, function () use ($stream): void {
                $data = (string) fread($stream, 1 << 16);
                $data === '' ? $this->end() : $this->emit('data', [$data]);
            });
        }

        public function write(string $data): void
        {
            fwrite($this->stream, $data);
        }

        public function end(): void
        {
            if (is_resource($this->stream)) {
                Loop::removeReadStream($this->stream);
                fclose($this->stream);
                $this->emit('close');
            }
        }
    }
}

namespace React\Http\Middleware {
    final class StreamingRequestMiddleware
    {
    }
}

namespace React\Http\Message {
    final class Response implements \Psr\Http\Message\ResponseInterface
    {
        /** @param array<string, list<string>> $headers */
        public function __construct(private int $status, private array $headers, private string $body)
        {
        }

        public function getStatusCode()
        {
            return $this->status;
        }

        public function getHeaders()
        {
            return $this->headers;
        }

        public function getBody()
        {
            return $this->body;
        }
    }

    /** Each `getX` returns the value `x` that the request was made with. */
    final class ServerRequest implements \Psr\Http\Message\ServerRequestInterface
    {
        /** @param array<string, mixed> $values */
        public function __construct(private array $values)
        {
        }

        /** @param list<mixed> $arguments */
        public function __call(string $name, array $arguments): mixed
        {
            return $this->values[lcfirst(substr($name, 3))] ?? $arguments[1] ?? [];
        }
    }
}

namespace React\Http {
    use React\Http\Message\ServerRequest;
    use React\Socket\Connection;

    /** Requests without a body. */
    final class HttpServer extends \Evenement\EventEmitter
    {
        private $handler;

        public function __construct(...$middlewares)
        {
            $this->handler = end($middlewares);
        }

        public function listen(\Evenement\EventEmitter $server): void
        {
            $server->on('connection', function (Connection $connection): void {
                $connection->on('data', fn (string $data) => $this->answer($connection, $data));
            });
        }

        private function answer(Connection $connection, string $data): void
        {
            $name = explode(':', (string) stream_socket_get_name($connection->stream, true));
            [$method, $target] = explode(' ', $data);
            $response = ($this->handler)(new ServerRequest([
                'method' => $method,
                'requestTarget' => $target,
                'serverParams' => ['REMOTE_ADDR' => $name[0], 'REMOTE_PORT' => $name[1]],
                'protocolVersion' => '1.1',
                'body' => '',
            ]));
            $body = $response->getBody();
            $closes = ($response->getHeaders()['Connection'] ?? []) === ['close'];
            $connection->write("HTTP/1.1 {$response->getStatusCode()} \r\n"
                . ($closes ? "Connection: close\r\n" : '')
                . 'Content-Length: ' . strlen($body) . "\r\n\r\n$body");
            $closes && $connection->end();
        }
    }
}
