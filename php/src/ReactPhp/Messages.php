<?php

declare(strict_types=1);

namespace Stampede\Worker\ReactPhp;

use Psr\Http\Message\ServerRequestInterface;
use Psr\Http\Message\UploadedFileInterface;
use React\Http\Message\Response as ReactResponse;
use Stampede\Worker\Request;
use Stampede\Worker\Response;
use Stampede\Worker\Uploads;

/** A request as ReactPHP has parsed it, and the answer that it sends. */
final class Messages
{
    /** @param string $directory for what was uploaded */
    public static function request(ServerRequestInterface $asked, string $directory): Request
    {
        // A proxy's client names scheme and host, too.
        $target = preg_replace('~^[a-z]+://[^/?#]*~i', '', $asked->getRequestTarget());
        $files = self::files($asked->getUploadedFiles(), $directory);

        return new Request(
            $asked->getMethod(),
            str_starts_with((string) $target, '/') ? $target : "/$target",
            $asked->getHeaders(),
            $files === [] ? (string) $asked->getBody() : '',
            $asked->getCookieParams(),
            (array) $asked->getParsedBody(),
            $files,
            'HTTP/' . $asked->getProtocolVersion(),
            trim($asked->getServerParams()['REMOTE_ADDR'] ?? '127.0.0.1', '[]'),
        );
    }

    public static function response(Response $response): ReactResponse
    {
        $framed = $response->framed();

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
                return Uploads::missing($name, $node->getError());
            }
            $type = (string) $node->getClientMediaType();

            return Uploads::keep($name, $type, (string) $node->getStream(), $directory);
        }, $tree);
    }
}
