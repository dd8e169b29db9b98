<?php

declare(strict_types=1);

namespace Illuminate\Contracts\Http {
    interface Kernel
    {
        public function handle($request);
        public function terminate($request, $response);
    }
}

namespace Illuminate\Http {
    final class Request extends \Symfony\Component\HttpFoundation\Request
    {
        public static function createFromBase(
            \Symfony\Component\HttpFoundation\Request $request,
        ): static {
            $files = $request->files->all();

            return new static($request->query, [], [], [], $files, $request->server);
        }
    }

    final class UploadedFile
    {
        public static function createFromBase(
            \Symfony\Component\HttpFoundation\File\UploadedFile $file,
            bool $test = false,
        ): static {
            $made = new static();
            [$made->name, $made->test] = [$file->name, $test];

            return $made;
        }

        public string $name = '';
        public bool $test = false;
    }
}

namespace Stampede\Worker\Tests {
    use Symfony\Component\HttpFoundation\Response;

    /** A container that returns itself for every name, and also plays what it returns. */
    final class LaravelDouble implements \Illuminate\Contracts\Http\Kernel
    {
        /** @var list<string> */
        public static array $calls = [];

        public function make(string $name): self
        {
            self::$calls[] = "make $name";

            return $this;
        }

        public function handle($request)
        {
            self::$calls[] = 'handle ' . get_class($request);

            $console = $_ENV['APP_RUNNING_IN_CONSOLE'] ?? null;
            $seen = [$request->query, $request->files->all(), $console];

            return new Response((string) json_encode($seen), 200);
        }

        public function terminate($request, $response)
        {
            self::$calls[] = 'terminate';
        }

        public function forgetScopedInstances(): void
        {
            self::$calls[] = 'forget';
        }
    }
}

namespace Laravel\Lumen {
    final class Application
    {
        /** @var list<string> */
        public static array $calls = [];

        public function handle(
            \Symfony\Component\HttpFoundation\Request $request,
        ): \Symfony\Component\HttpFoundation\Response {
            self::$calls[] = 'handle';

            return new \Symfony\Component\HttpFoundation\Response('lumen', 200);
        }

        public function terminate(): void
        {
            self::$calls[] = 'terminate';
        }
    }
}
