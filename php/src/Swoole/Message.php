<?php

declare(strict_types=1);

namespace Stampede\Worker\Swoole;

use Stampede\Worker\Form;
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

    /**
     * The server's own parsing of cookies and forms is off: it is not PHP's.
     *
     * @param \Swoole\Http\Request $swooleRequest
     * @param string $directory where uploaded files are stored
     */
    public static function request(object $swooleRequest, string $directory): Request
    {
        /** @var array<string, scalar> $server */
        $server = array_change_key_case((array) $swooleRequest->server);
        $target = (string) $server['request_uri'];
        $query = (string) ($server['query_string'] ?? '');
        /** @var array<string, string|list<string>> $received */
        $received = (array) $swooleRequest->header;
        $headers = Response::normalizeHeaders($received);

        $request = new Request(
            (string) $server['request_method'],
            $query === '' ? $target : "$target?$query",
            $headers,
            protocol: (string) ($server['server_protocol'] ?? 'HTTP/1.1'),
            remoteAddr: (string) ($server['remote_addr'] ?? ''),
            remotePort: (int) ($server['remote_port'] ?? 0),
        );
        Form::parse($request, $directory, (string) $swooleRequest->rawContent());

        return $request;
    }

    /**
     * Sends an answer; of one that is streamed only the head, before its first piece.
     *
     * @param \Swoole\Http\Response $response
     */
    public static function send(Response $answer, object $response): void
    {
        $response->status($answer->status, self::REASONS[$answer->status] ?? 'Status');
        foreach ($answer->headers as $name => $values) {
            // The server counts the body itself, including what was printed and what it compresses.
            $counted = strcasecmp((string) $name, 'Content-Length') === 0
                && ($answer->body !== '' || $answer->stream !== null);
            if (!$counted && $values !== []) {
                $response->header((string) $name, count($values) === 1 ? $values[0] : $values);
            }
        }
        if ($answer->stream !== null) {
            return;
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
}
