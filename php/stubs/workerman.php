<?php

// workerman/workerman 5

namespace Workerman {
    use Workerman\Connection\TcpConnection;

    class Worker
    {
        /** @var ?callable */
        public static $onMasterStop;
        public static string $command = '';
        public static string $pidFile = '';
        public static string $statusFile = '';
        public static string $logFile = '';
        /** @var ?resource */
        public static $outputStream;
        public static int $stopTimeout = 2;
        public string $name = 'none';
        public int $count = 1;
        /** @var ?callable */
        public $onWorkerStart;
        /** @var ?callable */
        public $onMessage;
        /** @var ?callable */
        public $onClose;
        /** @var array<int, TcpConnection> */
        public array $connections = [];

        /** @param array<string, array<string, mixed>> $socketContext */
        public function __construct(?string $socketName = null, array $socketContext = [])
        {
        }

        public function unlisten(): void
        {
        }

        public static function stopAll(int $code = 0, mixed $log = ''): void
        {
        }

        public static function runAll(): void
        {
        }
    }

    class Timer
    {
        /** @param array<mixed> $args */
        public static function delay(float $timeInterval, callable $func, array $args = []): int
        {
        }
    }
}

namespace Workerman\Connection {
    class TcpConnection
    {
        public static int $defaultMaxPackageSize = 10485760;

        /** @return resource */
        public function getSocket()
        {
        }

        public function getRemoteIp(): string
        {
        }

        public function getRemotePort(): int
        {
        }

        public function send(mixed $sendBuffer, bool $raw = false): ?bool
        {
        }

        public function close(mixed $data = null, bool $raw = false): void
        {
        }
    }
}

namespace Workerman\Protocols\Http {
    class Request
    {
        public function rawBuffer(): string
        {
        }

        public function method(): string
        {
        }

        public function uri(): string
        {
        }

        public function protocolVersion(): string
        {
        }
    }

    class Response implements \Stringable
    {
        /** @param array<string, string|array<string>> $headers */
        public function __construct(int $status = 200, array $headers = [], string $body = '')
        {
        }

        public function __toString(): string
        {
        }
    }
}
