<?php

declare(strict_types=1);

namespace Symfony\Component\HttpFoundation {
    final class Files
    {
        /** @param array<mixed> $files */
        public function __construct(private array $files)
        {
        }

        /** @return array<mixed> */
        public function all(): array
        {
            return $this->files;
        }

        /** @param array<mixed> $files */
        public function replace(array $files): void
        {
            $this->files = $files;
        }
    }

    class Request
    {
        public Files $files;

        /**
         * @param array<mixed> $query
         * @param array<mixed> $request
         * @param array<mixed> $attributes
         * @param array<mixed> $cookies
         * @param array<mixed> $files
         * @param array<mixed> $server
         */
        public function __construct(
            public array $query = [],
            public array $request = [],
            public array $attributes = [],
            public array $cookies = [],
            array $files = [],
            public array $server = [],
            public mixed $content = null,
        ) {
            $this->files = new Files($files);
        }
    }

    final class Headers
    {
        /** @param array<string, list<string>> $headers */
        public function __construct(private array $headers)
        {
        }

        /** @return array<string, list<string>> */
        public function allPreserveCaseWithoutCookies(): array
        {
            return $this->headers;
        }

        /** @return list<string> */
        public function getCookies(): array
        {
            return ['id=7; path=/'];
        }
    }

    class Response
    {
        public Headers $headers;

        /** @param array<string, list<string>> $headers */
        public function __construct(
            private string|false $content,
            private int $status = 200,
            array $headers = [],
        ) {
            $this->headers = new Headers($headers);
        }

        public function getContent(): string|false
        {
            return $this->content;
        }

        public function sendContent(): static
        {
            echo 'streamed';

            return $this;
        }

        public function getStatusCode(): int
        {
            return $this->status;
        }
    }
}

namespace Symfony\Component\HttpFoundation\File {
    final class UploadedFile
    {
        public function __construct(
            public string $path,
            public string $name,
            public ?string $type = null,
            public ?int $error = null,
            public bool $test = false,
        ) {
        }
    }
}

namespace Symfony\Component\HttpKernel {
    interface HttpKernelInterface
    {
        public function handle(
            \Symfony\Component\HttpFoundation\Request $request,
            int $type = 1,
            bool $catch = true,
        ): \Symfony\Component\HttpFoundation\Response;
    }
    interface KernelInterface extends HttpKernelInterface
    {
        public function getContainer();
    }
    interface TerminableInterface
    {
        public function terminate(
            \Symfony\Component\HttpFoundation\Request $request,
            \Symfony\Component\HttpFoundation\Response $response,
        );
    }
    interface RebootableInterface
    {
        public function reboot(?string $warmupDir);
    }
}

namespace Symfony\Component\Runtime {
    final class SymfonyRuntime
    {
        /** @param array<string, mixed> $options */
        public function __construct(public array $options)
        {
        }

        public function getResolver(callable $make): object
        {
            return new class ($make) {
                public function __construct(private mixed $make)
                {
                }

                /** @return array{callable, list<mixed>} */
                public function resolve(): array
                {
                    return [$this->make, [['APP_ENV' => 'prod', 'APP_DEBUG' => '0']]];
                }
            };
        }
    }
}

namespace App {
    use Symfony\Component\HttpFoundation\Request;
    use Symfony\Component\HttpFoundation\Response;

    final class Kernel implements
        \Symfony\Component\HttpKernel\HttpKernelInterface,
        \Symfony\Component\HttpKernel\TerminableInterface,
        \Symfony\Component\HttpKernel\RebootableInterface
    {
        /** @var list<string> */
        public static array $calls = [];

        public function __construct(public string $environment = '', public bool $debug = false)
        {
            self::$calls[] = "new $environment " . ($debug ? 'debug' : 'plain');
        }

        public function handle(Request $request, int $type = 1, bool $catch = true): Response
        {
            self::$calls[] = 'handle';
            $file = $request->files->all()['paper'] ?? null;
            $seen = [$request->query, $request->request, $request->cookies, $request->content];
            $seen[] = $request->server['REQUEST_URI'] ?? '';
            $seen[] = $file ? [$file->name, $file->test] : null;
            $text = isset($request->query['stream']) ? false : (string) json_encode($seen);

            return new Response($text, 201, ['X-Kind' => ['symfony']]);
        }

        public function terminate(Request $request, Response $response)
        {
            self::$calls[] = 'terminate';
        }

        public function reboot(?string $warmupDir)
        {
            self::$calls[] = 'reboot';
        }
    }
}
