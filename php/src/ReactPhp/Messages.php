<?php

declare(strict_types=1);

namespace Stampede\Worker\ReactPhp;

use Psr\Http\Message\ServerRequestInterface;
use Psr\Http\Message\UploadedFileInterface;
use React\Http\Message\Response as ReactResponse;
use Stampede\Worker\Request;
use Stampede\Worker\Response;
use Stampede\Worker\Uploads;

/** Translates requests that ReactPHP has parsed, and answers that it will send. */
final class Messages
{
    /** @param string $directory where uploaded files are stored */
    public static function request(ServerRequestInterface $psrRequest, string $directory): Request
    {
        // A client of a proxy puts scheme and host in front of the path.
        $target = preg_replace('~^[a-z]+://[^/?#]*~i', '', $psrRequest->getRequestTarget());
        $files = self::files($psrRequest->getUploadedFiles(), $directory);

        return new Request(
            $psrRequest->getMethod(),
            str_starts_with((string) $target, '/') ? $target : "/$target",
            $psrRequest->getHeaders(),
            $files === [] ? (string) $psrRequest->getBody() : '',
            $psrRequest->getCookieParams(),
            (array) $psrRequest->getParsedBody(),
            $files,
            'HTTP/' . $psrRequest->getProtocolVersion(),
            trim($psrRequest->getServerParams()['REMOTE_ADDR'] ?? '127.0.0.1', '[]'),
        );
    }

    public static function response(Response $response): ReactResponse
    {
        $framed = $response->removeLengthHeaders();

        return new ReactResponse($framed->status, $framed->headers, $framed->body);
    }

    /**
     * @param array<mixed> $tree
     * @return array<mixed>
     */
    private static function files(array $tree, string $directory): array
    {
        return array_map(static function (mixed $node) use ($directory): mixed {
            if (!$node instanceof UploadedFileInterface) {
                return self::files((array) $node, $directory);
            }
            $name = (string) $node->getClientFilename();
            if ($node->getError() !== UPLOAD_ERR_OK) {
                return Uploads::createMissing($name, $node->getError());
            }
            $type = (string) $node->getClientMediaType();

            return Uploads::store($name, $type, (string) $node->getStream(), $directory);
        }, $tree);
    }
}
