<?php

declare(strict_types=1);

namespace Psr\Http\Message {
    interface StreamInterface
    {
        public function __toString();
        public function getSize();
        public function isSeekable();
        public function rewind();
        public function eof();
        public function read($length);
    }
    interface ServerRequestInterface
    {
    }
    interface ResponseInterface
    {
        public function getStatusCode();
        public function getHeaders();
        public function getBody();
    }
}

namespace Psr\Http\Server {
    interface RequestHandlerInterface
    {
        public function handle(
            \Psr\Http\Message\ServerRequestInterface $request,
        ): \Psr\Http\Message\ResponseInterface;
    }
}

namespace Nyholm\Psr7 {
    final class Stream implements \Psr\Http\Message\StreamInterface
    {
        private int $at = 0;

        public function __construct(private string $text)
        {
        }

        public function __toString(): string
        {
            return $this->text;
        }

        public function getSize()
        {
            return strlen($this->text);
        }

        public function isSeekable()
        {
            return true;
        }

        public function rewind()
        {
            $this->at = 0;
        }

        public function eof()
        {
            return $this->at >= strlen($this->text);
        }

        public function read($length)
        {
            $this->at += $length;

            return substr($this->text, $this->at - $length, $length);
        }
    }

    final class Response implements \Psr\Http\Message\ResponseInterface
    {
        /** @param array<string, mixed> $headers */
        public function __construct(
            private int $status = 200,
            private array $headers = [],
            private string $body = '',
        ) {
        }

        public function getStatusCode()
        {
            return $this->status;
        }

        public function getHeaders()
        {
            return array_map(static fn ($value): array => (array) $value, $this->headers);
        }

        public function getBody()
        {
            return new Stream($this->body);
        }
    }

    final class UploadedFile
    {
        public function __construct(
            public mixed $stream,
            public ?int $size,
            public int $error,
            public ?string $name,
            public ?string $type,
        ) {
        }
    }

    /** Every `withX` stores its argument as `x`. */
    final class ServerRequest implements \Psr\Http\Message\ServerRequestInterface
    {
        /** @var array<string, mixed> */
        public array $kept = [];
        /** @var array<string, mixed> */
        public array $headers = [];

        /** @param array<mixed> $arguments */
        public function __call(string $name, array $arguments): mixed
        {
            $other = clone $this;
            if ($name === 'withHeader') {
                $other->headers[$arguments[0]] = $arguments[1];
            } elseif (str_starts_with($name, 'with')) {
                $other->kept[lcfirst(substr($name, 4))] = $arguments[0];
            } else {
                throw new \BadMethodCallException($name);
            }

            return $other;
        }
    }
}

namespace Nyholm\Psr7\Factory {
    final class Psr17Factory
    {
        /** @param array<string, mixed> $server */
        public function createServerRequest(string $method, $uri, array $server = []): object
        {
            $made = new \Nyholm\Psr7\ServerRequest();
            $made->kept = ['method' => $method, 'uri' => $uri, 'server' => $server];

            return $made;
        }

        public function createStream(string $text = ''): object
        {
            return new \Nyholm\Psr7\Stream($text);
        }

        public function createStreamFromFile(string $file): object
        {
            return new \Nyholm\Psr7\Stream((string) file_get_contents($file));
        }

        public function createUploadedFile($stream, $size, $error, $name, $type): object
        {
            return new \Nyholm\Psr7\UploadedFile($stream, $size, $error, $name, $type);
        }
    }
}
