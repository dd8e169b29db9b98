<?php

// Swoole 5 and 6. Open Swoole has the same classes in a namespace of its own.

namespace Swoole {
    class Atomic
    {
        public function __construct(int $value = 0)
        {
        }

        public function get(): int
        {
        }

        public function set(int $value): void
        {
        }

        public function add(int $add_value = 1): int
        {
        }
    }
}

namespace Swoole\Http {
    class Request
    {
        /** @var ?array<string, string|list<string>> */
        public $header;
        /** @var ?array<string, int|float|string> */
        public $server;

        public function rawContent(): string|false
        {
        }
    }

    class Response
    {
        public function status(int $http_code, string $reason = ''): bool
        {
        }

        /** @param string|list<string> $value */
        public function header(string $key, $value, bool $format = true): bool
        {
        }

        public function write(string $content): bool
        {
        }

        public function end(?string $content = null): bool
        {
        }
    }

    class Server
    {
        /** @var array<string, mixed> */
        public $setting;

        public function __construct(string $host, int $port = 0, int $mode = 2, int $sock_type = 1)
        {
        }

        /** @param array<string, mixed> $settings */
        public function set(array $settings): bool
        {
        }

        public function on(string $event_name, callable $callback): bool
        {
        }

        public function start(): bool
        {
        }

        public function stop(int $workerId = -1, bool $waitEvent = false): bool
        {
        }

        public function shutdown(): bool
        {
        }

        public function getWorkerStatus(int $worker_id = -1): int|false
        {
        }

        public function getWorkerPid(int $worker_id = -1): int|false
        {
        }
    }
}
