<?php

declare(strict_types=1);

namespace Illuminate\Http {
    final class Response
    {
        /** @param array<string, list<string>> $headers */
        public function __construct(
            public string $content,
            public int $status,
            public array $headers,
        ) {
        }
    }
}

namespace Stampede\Worker\Tests {
    /** An application; it also plays its configuration, its events and Octane's routes. */
    final class OctaneDouble
    {
        /** @var array<string, callable> */
        public array $routes = [];
        /** @var array<string, callable> */
        public array $heard = [];
        /** The state of a Swoole worker. */
        public ?object $state = null;
        /** @var array<string, object> */
        private array $instances = [];

        /** @param array<string, mixed> $config */
        public function __construct(
            private string $directory = '',
            private array $config = ['app.name' => 'Double', 'octane' => ['garbage' => 7]],
        ) {
        }

        public function make(string $name): object
        {
            return str_ends_with($name, 'WorkerState') ? $this->state : $this;
        }

        public function instance(string $name, object $one): void
        {
            $this->instances[$name] = $one;
        }

        public function flush(): void
        {
            $this->instances = [];
        }

        public function bound(string $name): bool
        {
            return $this->state !== null;
        }

        public function listen(string $event, callable $then): void
        {
            $this->heard[$event] = $then;
        }

        public function bootstrap(): void
        {
        }

        public function get(string $key, mixed $default = null): mixed
        {
            return $this->config[$key] ?? $default;
        }

        public function publicPath(): string
        {
            return "{$this->directory}/public";
        }

        public function storagePath(): string
        {
            return "{$this->directory}/storage";
        }

        public function booted(callable $then): void
        {
            $then($this);
        }

        public function route(string $method, string $path, callable $answer): void
        {
            $this->routes["$method $path"] = $answer;
        }
    }

    /** Laravel's request as far as Octane's routes use it; also plays the request's headers. */
    final class OctaneRequest
    {
        public self $headers;

        public function __construct(private string $target)
        {
            $this->headers = $this;
        }

        /** @return array<string, list<string>> */
        public function all(): array
        {
            return ['host' => ['h:1'], 'x-stampede-check' => ['7']];
        }

        public function getRequestUri(): string
        {
            return $this->target;
        }
    }
}
