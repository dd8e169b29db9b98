<?php

declare(strict_types=1);

namespace Stampede\Worker\ReactPhp;

use Psr\Http\Message\ServerRequestInterface;
use React\Http\Message\Response as ReactResponse;
use Stampede\Worker\Request;
use Stampede\Worker\Response;

/** Translates the heads of requests that ReactPHP has parsed, and answers that it will send. */
final class Messages
{
    public static function request(ServerRequestInterface $psrRequest): Request
    {
        // A client of a proxy puts scheme and host in front of the path.
        $target = (string) preg_replace('~^[a-z]+://[^/?#]*~i', '', $psrRequest->getRequestTarget());
        /** @var array{REMOTE_ADDR?: string, REMOTE_PORT?: int|string, SERVER_ADDR?: string} $server */
        $server = $psrRequest->getServerParams();

        return new Request(
            $psrRequest->getMethod(),
            str_starts_with($target, '/') ? $target : "/$target",
            $psrRequest->getHeaders(),
            protocol: 'HTTP/' . $psrRequest->getProtocolVersion(),
            remoteAddr: trim($server['REMOTE_ADDR'] ?? '127.0.0.1', '[]'),
            remotePort: (int) ($server['REMOTE_PORT'] ?? 0),
            serverAddr: trim($server['SERVER_ADDR'] ?? '127.0.0.1', '[]'),
        );
    }

    public static function response(Response $response): ReactResponse
    {
        $framed = $response->removeLengthHeaders();

        return new ReactResponse($framed->status, $framed->headers, $framed->body);
    }
}
