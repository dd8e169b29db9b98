<?php

declare(strict_types=1);

// A small Workerman with the public interfaces that are used: one process, which is also the
// master.

namespace Stampede\Worker\Pool {
    use Workerman\Worker;

    // The extension may be missing where tests run. A signal to the master ends it.
    function posix_getppid(): int
    {
        return 1;
    }

    function posix_kill(int $pid, int $signal): bool
    {
        (Worker::$onMasterStop)();

        return true;
    }
}

namespace Workerman {
    use Workerman\Connection\TcpConnection;

    final class Worker
    {
        public static $onMasterStop;
        public static string $command = '';
        public static string $pidFile = '';
        public static string $statusFile = '';
        public static string $logFile = '';
        public static $outputStream;
        public static int $stopTimeout = 2;
        private static self $only;
        public string $name = '';
        public int $count = 1;
        public $onWorkerStart;
        public $onMessage;
        public $onClose;
        /** @var array<int, TcpConnection> */
        public array $connections = [];
        private $socket;

        /** @param array<string, array<string, mixed>> $context */
        public function __construct(private string $address, array $context)
        {
            self::$only = $this;
        }

        public function unlisten(): void
        {
            fclose($this->socket);
            $this->socket = null;
        }

        public static function stopAll(): void
        {
            exit(0);
        }

        public static function runAll(): void
        {
            self::$only->run();
        }

        private function run(): void
        {
            $this->socket = @stream_socket_server(str_replace('http:', 'tcp:', $this->address));
            if ($this->socket === false) {
                return;
            }
            ($this->onWorkerStart)($this);
            while (true) {
                $read = ['' => $this->socket] + array_map(static fn ($one) => $one->getSocket(), $this->connections);
                $read = array_filter($read);
                [$write, $except] = [null, null];
                stream_select($read, $write, $except, 5);
                foreach (array_keys($read) as $id) {
                    $id === '' ? $this->accept() : $this->connections[$id]->read();
                }
            }
        }

        private function accept(): void
        {
            $connection = new TcpConnection(stream_socket_accept($this->socket), $this);
            $this->connections[$connection->id] = $connection;
        }
    }

    final class Timer
    {
        public static function delay(float $wait, callable $callback): void
        {
        }
    }
}

namespace Workerman\Connection {
    use Workerman\Protocols\Http\Request;
    use Workerman\Worker;

    final class TcpConnection
    {
        public static int $defaultMaxPackageSize = 0;
        public int $id;

        public function __construct(private $stream, private Worker $worker)
        {
            $this->id = (int) $stream;
        }

        public function getSocket()
        {
            return $this->stream;
        }

        public function getRemoteIp(): string
        {
            return '127.0.0.1';
        }

        public function getRemotePort(): int
        {
            return 4711;
        }

        public function read(): void
        {
            $data = (string) fread($this->stream, 1 << 16);
            $data === '' ? $this->close() : ($this->worker->onMessage)($this, new Request($data));
        }

        public function send(string $bytes, bool $raw): void
        {
            fwrite($this->stream, $bytes);
        }

        public function close(string $bytes = '', bool $raw = false): void
        {
            fwrite($this->stream, $bytes);
            fclose($this->stream);
            ($this->worker->onClose)($this);
            unset($this->worker->connections[$this->id]);
        }
    }
}

namespace Workerman\Protocols\Http {
    final class Request
    {
        /** @var array<string, string> */
        private array $headers = [];

        public function __construct(private string $buffer)
        {
            foreach (array_slice(explode("\r\n", explode("\r\n\r\n", $buffer)[0]), 1) as $line) {
                [$name, $value] = explode(': ', $line);
                $this->headers[strtolower($name)] = $value;
            }
        }

        public function header(?string $name = null, mixed $default = null): mixed
        {
            return $name === null ? $this->headers : $this->headers[$name] ?? $default;
        }

        public function method(): string
        {
            return explode(' ', $this->buffer)[0];
        }

        public function uri(): string
        {
            return explode(' ', $this->buffer)[1];
        }

        public function protocolVersion(): string
        {
            return substr(explode("\r\n", $this->buffer)[0], -3);
        }

        public function rawBuffer(): string
        {
            return $this->buffer;
        }
    }

    /** Like Workerman, it recognises names of headers in their usual capitalisation only. */
    final class Response
    {
        /** @param array<string, list<string>> $headers */
        public function __construct(private int $status, private array $headers, private string $body)
        {
        }

        public function __toString(): string
        {
            $head = "HTTP/1.1 {$this->status} \r\n";
            $length = ['Content-Length' => [(string) strlen($this->body)]];
            foreach ($this->headers + ['Connection' => ['keep-alive']] + $length as $name => $values) {
                foreach ($values as $value) {
                    $head .= "$name: $value\r\n";
                }
            }

            return "$head\r\n{$this->body}";
        }
    }
}
