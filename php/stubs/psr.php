<?php

// PSR-3, PSR-7, PSR-15 and PSR-17, and the classes that implement them.

namespace Psr\Log {
    abstract class AbstractLogger
    {
        /**
         * @param mixed $level
         * @param array<mixed> $context
         */
        abstract public function log($level, string|\Stringable $message, array $context = []): void;
    }

    class LogLevel
    {
        public const DEBUG = 'debug';
        public const INFO = 'info';
        public const NOTICE = 'notice';
    }
}

namespace Psr\Http\Message {
    interface StreamInterface extends \Stringable
    {
        public function getSize(): ?int;
        public function isSeekable(): bool;
        public function rewind(): void;
        public function eof(): bool;
        public function read(int $length): string;
    }

    interface UriInterface
    {
        public function getPath(): string;
        public function getQuery(): string;
    }

    interface UploadedFileInterface
    {
    }

    interface MessageInterface
    {
        public function getProtocolVersion(): string;
        /** @return static */
        public function withProtocolVersion(string $version): self;
        /** @return array<string, list<string>> */
        public function getHeaders(): array;
        /**
         * @param string|list<string> $value
         * @return static
         */
        public function withHeader(string $name, $value): self;
        public function getBody(): StreamInterface;
        /** @return static */
        public function withBody(StreamInterface $body): self;
    }

    interface ServerRequestInterface extends MessageInterface
    {
        public function getRequestTarget(): string;
        public function getMethod(): string;
        /** @return array<mixed> */
        public function getServerParams(): array;
        public function getAttribute(string $name, mixed $default = null): mixed;
        /**
         * @param array<mixed> $query
         * @return static
         */
        public function withQueryParams(array $query): self;
        /**
         * @param array<mixed> $cookies
         * @return static
         */
        public function withCookieParams(array $cookies): self;
        /**
         * @param array<mixed> $uploadedFiles
         * @return static
         */
        public function withUploadedFiles(array $uploadedFiles): self;
        /**
         * @param null|array<mixed>|object $data
         * @return static
         */
        public function withParsedBody($data): self;
    }

    interface ResponseInterface extends MessageInterface
    {
        public function getStatusCode(): int;
    }

    interface ServerRequestFactoryInterface
    {
        /**
         * @param UriInterface|string $uri
         * @param array<mixed> $serverParams
         */
        public function createServerRequest(string $method, $uri, array $serverParams = []): ServerRequestInterface;
    }

    interface StreamFactoryInterface
    {
        public function createStream(string $content = ''): StreamInterface;
        public function createStreamFromFile(string $filename, string $mode = 'r'): StreamInterface;
    }

    interface UploadedFileFactoryInterface
    {
        public function createUploadedFile(
            StreamInterface $stream,
            ?int $size = null,
            int $error = \UPLOAD_ERR_OK,
            ?string $clientFilename = null,
            ?string $clientMediaType = null,
        ): UploadedFileInterface;
    }

    interface ResponseFactoryInterface
    {
    }
}

namespace Psr\Http\Server {
    use Psr\Http\Message\ResponseInterface;
    use Psr\Http\Message\ServerRequestInterface;

    interface RequestHandlerInterface
    {
        public function handle(ServerRequestInterface $request): ResponseInterface;
    }
}

namespace Nyholm\Psr7\Factory {
    use Psr\Http\Message\ResponseFactoryInterface;
    use Psr\Http\Message\ServerRequestFactoryInterface;
    use Psr\Http\Message\StreamFactoryInterface;
    use Psr\Http\Message\UploadedFileFactoryInterface;

    class Psr17Factory implements
        ResponseFactoryInterface,
        ServerRequestFactoryInterface,
        StreamFactoryInterface,
        UploadedFileFactoryInterface
    {
    }
}

namespace GuzzleHttp\Psr7 {
    class HttpFactory extends \Nyholm\Psr7\Factory\Psr17Factory
    {
    }
}
