<?php

declare(strict_types=1);

namespace Stampede\Worker\Swoole;

use Stampede\Worker\Request;
use Stampede\Worker\Response;

/** Converts the server's request into ours, and our answer into the server's. */
final class Message
{
    /**
     * Open Swoole sends `200 OK` for a status that it does not know, unless it is given a reason.
     */
    private const REASONS = [
        200 => 'OK', 201 => 'Created', 202 => 'Accepted', 204 => 'No Content',
        206 => 'Partial Content', 301 => 'Moved Permanently', 302 => 'Found', 303 => 'See Other',
        304 => 'Not Modified', 307 => 'Temporary Redirect', 308 => 'Permanent Redirect',
        400 => 'Bad Request', 401 => 'Unauthorized', 403 => 'Forbidden', 404 => 'Not Found',
        405 => 'Method Not Allowed', 406 => 'Not Acceptable', 409 => 'Conflict', 410 => 'Gone',
        422 => 'Unprocessable Content', 429 => 'Too Many Requests',
        500 => 'Internal Server Error', 503 => 'Service Unavailable',
    ];

    public static function request(object $swooleRequest): Request
    {
        $server = array_change_key_case((array) $swooleRequest->server);
        $target = (string) $server['request_uri'];
        $query = (string) ($server['query_string'] ?? '');
        $headers = Response::normalizeHeaders((array) $swooleRequest->header);

        return new Request(
            (string) $server['request_method'],
            $query === '' ? $target : "$target?$query",
            $headers,
            self::isForm($headers) ? '' : (string) $swooleRequest->rawContent(),
            array_map('strval', array_filter((array) $swooleRequest->cookie, 'is_scalar')),
            (array) $swooleRequest->post,
            (array) $swooleRequest->files,
            (string) ($server['server_protocol'] ?? 'HTTP/1.1'),
            (string) ($server['remote_addr'] ?? ''),
        );
    }

    public static function send(Response $answer, object $response): void
    {
        $response->status($answer->status, self::REASONS[$answer->status] ?? 'Status');
        foreach ($answer->headers as $name => $values) {
            // The server counts the body itself, including what was printed and what it compresses.
            $counted = strcasecmp((string) $name, 'Content-Length') === 0 && $answer->body !== '';
            if (!$counted && $values !== []) {
                $response->header((string) $name, count($values) === 1 ? $values[0] : $values);
            }
        }
        // A client reads no body after these. It would take one for the next answer.
        $response->end(in_array($answer->status, [204, 304], true) ? '' : $answer->body);
    }

    /** Returns the answer to HEAD. The server itself would send the body as well. */
    public static function withoutBody(Response $answer): Response
    {
        $headers = array_change_key_case($answer->headers);
        $length = $headers['content-length'] ?? [(string) strlen($answer->body)];

        return new Response($answer->status, ['content-length' => $length] + $headers);
    }

    /**
     * As under PHP-FPM, the body of such a form cannot be read again.
     *
     * @param array<string, list<string>> $headers
     */
    private static function isForm(array $headers): bool
    {
        return stripos($headers['content-type'][0] ?? '', 'multipart/form-data') === 0;
    }
}
