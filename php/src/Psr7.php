<?php

declare(strict_types=1);

namespace Stampede\Worker;

use Psr\Http\Message\ResponseFactoryInterface;
use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestFactoryInterface;
use Psr\Http\Message\ServerRequestInterface;
use Psr\Http\Message\StreamFactoryInterface;
use Psr\Http\Message\UploadedFileFactoryInterface;

/** Converts requests to PSR-7 with the factory that the app brings, and answers back from it. */
final class Psr7
{
    /** Classes that implement all factories of PSR-17. */
    private const FACTORIES = [
        'Nyholm\Psr7\Factory\Psr17Factory',
        'GuzzleHttp\Psr7\HttpFactory',
    ];

    /** A body that is longer, or of unknown length, is streamed. */
    private const WHOLE = 1 << 18;
    /** Bytes that are read of a streamed body at once. */
    private const PIECE = 1 << 16;

    /**
     * Implements all interfaces of PSR-17.
     *
     * @var ServerRequestFactoryInterface&StreamFactoryInterface&UploadedFileFactoryInterface&ResponseFactoryInterface
     */
    public object $factory;

    /** @throws Problem if there is no factory */
    public function __construct(string $why)
    {
        foreach (self::FACTORIES as $class) {
            if (class_exists($class)) {
                $this->factory = new $class();

                return;
            }
        }
        AppRequirements::checkType(self::FACTORIES[0], 'nyholm/psr7', $why);
    }

    public function request(Request $request): ServerRequestInterface
    {
        $host = $request->header('Host') ?? 'localhost';
        $uri = "{$request->scheme}://$host{$request->target}";
        $made = $this->factory->createServerRequest($request->method, $uri, $_SERVER);
        $version = substr((string) strrchr($request->protocol, '/'), 1);
        $made = $made->withProtocolVersion($version ?: '1.1');
        foreach ($request->headers as $name => $values) {
            $made = $made->withHeader((string) $name, $values);
        }
        $made = $made
            ->withQueryParams($request->query())
            ->withCookieParams($request->cookies)
            ->withUploadedFiles($this->files($request->files))
            ->withBody($this->factory->createStream($request->body));

        return $request->form === [] ? $made : $made->withParsedBody($request->form);
    }

    public function response(ResponseInterface $response): Response
    {
        [$body, $stream] = [$response->getBody(), null];
        if (($body->getSize() ?? PHP_INT_MAX) > self::WHOLE) {
            $stream = static function (\Closure $send) use ($body): void {
                if ($body->isSeekable()) {
                    $body->rewind();
                }
                while (!$body->eof()) {
                    $send($body->read(self::PIECE));
                }
            };
        }

        return new Response(
            $response->getStatusCode(),
            $response->getHeaders(),
            $stream === null ? (string) $body : '',
            $stream,
        );
    }

    /**
     * @param array<mixed> $tree
     * @return array<mixed>
     */
    private function files(array $tree): array
    {
        return array_map(function (mixed $node): mixed {
            if (!Uploads::isFile($node)) {
                return $this->files((array) $node);
            }
            $stream = $node['error'] === UPLOAD_ERR_OK
                ? $this->factory->createStreamFromFile($node['tmp_name'])
                : $this->factory->createStream('');
            [$size, $error] = [$node['size'] ?? null, $node['error']];

            return $this->factory->createUploadedFile(
                $stream,
                $size,
                $error,
                $node['name'] ?? null,
                $node['type'] ?? null,
            );
        }, $tree);
    }
}
