<?php

declare(strict_types=1);

// The part of Swoole's public classes that is used. A fake server answers the requests in `$requests`.

namespace Swoole {
    class ExitException extends \Exception
    {
        public function __construct(private mixed $status = null)
        {
            parent::__construct('swoole exit');
        }

        public function getStatus(): mixed
        {
            return $this->status;
        }
    }
}

namespace Swoole {
    class Atomic
    {
        public function __construct(private int $value = 0)
        {
        }

        public function get(): int
        {
            return $this->value;
        }

        public function set(int $value): void
        {
            $this->value = $value;
        }

        public function add(int $more = 1): int
        {
            return $this->value += $more;
        }
    }

    class Timer
    {
        /** @var list<array{int, callable}> */
        public static array $ticks = [];

        public static function tick(int $ms, callable $work): int
        {
            self::$ticks[] = [$ms, $work];

            return count(self::$ticks);
        }
    }

    class Process
    {
        /** @var list<array{int, int}> */
        public static array $killed = [];

        public static function kill(int $pid, int $signal): bool
        {
            self::$killed[] = [$pid, $signal];

            return true;
        }
    }
}

namespace Swoole\Http {
    class Request
    {
        /** @var ?array<string, string|list<string>> */
        public ?array $header = [];
        /** @var array<string, mixed> */
        public array $server = [];
        /** @var ?array<string, string> */
        public ?array $cookie = null;
        /** @var ?array<mixed> */
        public ?array $post = null;
        /** @var ?array<mixed> */
        public ?array $files = null;

        public function __construct(string $uri = '/', public string|false $raw = '')
        {
            $this->server = [
                'request_method' => 'GET',
                'request_uri' => $uri,
                'server_protocol' => 'HTTP/1.1',
                'remote_addr' => '10.0.0.1',
            ];
        }

        public function rawContent(): string|false
        {
            return $this->raw;
        }
    }

    class Response
    {
        /** @var list<list<mixed>> what was called, in this order */
        public array $calls = [];

        public function status(int $code, string $reason = ''): bool
        {
            $this->calls[] = ['status', $code, $reason];

            return true;
        }

        /** @param string|list<string> $value */
        public function header(string $name, string|array $value): bool
        {
            $this->calls[] = ['header', $name, $value];

            return true;
        }

        public function write(string $content): bool
        {
            $this->calls[] = ['write', $content];

            return true;
        }

        public function end(?string $content = null): bool
        {
            $this->calls[] = ['end', $content];

            return true;
        }
    }

    class Server
    {
        /** The requests that `start` sends before it ends. @var list<Request> */
        public static array $requests = [];
        public static ?self $last = null;
        /** @var list<mixed> */
        public array $made;
        /** @var array<string, mixed> */
        public array $options = [];
        /** @var list<Response> */
        public array $answers = [];
        /** @var list<string> */
        public array $calls = [];
        public int $status = 2;
        /** @var array<string, callable> */
        private array $handlers = [];

        public function __construct(mixed ...$made)
        {
            [$this->made, self::$last] = [$made, $this];
        }

        /** @param array<string, mixed> $options */
        public function set(array $options): bool
        {
            $this->options = $options;

            return true;
        }

        public function on(string $event, callable $handler): bool
        {
            $this->handlers[$event] = $handler;

            return true;
        }

        public function start(): bool
        {
            ($this->handlers['ManagerStart'])($this);
            ($this->handlers['WorkerStart'])($this, 0);
            foreach (self::$requests as $request) {
                $this->answers[] = $response = new Response();
                ($this->handlers['Request'])($request, $response);
            }
            ($this->handlers['WorkerStop'])($this, 0);

            return true;
        }

        /** 1: busy, 2: idle */
        public function getWorkerStatus(int $worker): int
        {
            return $this->status;
        }

        public function getWorkerPid(int $worker): int
        {
            return 4711 + $worker;
        }

        public function stop(): bool
        {
            $this->calls[] = 'stop';

            return true;
        }

        public function shutdown(): bool
        {
            $this->calls[] = 'shutdown';

            return true;
        }
    }
}
