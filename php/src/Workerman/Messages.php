<?php

declare(strict_types=1);

namespace Stampede\Worker\Workerman;

use Stampede\Worker\Form;
use Stampede\Worker\Request;
use Stampede\Worker\Response;
use Workerman\Protocols\Http\Request as WorkermanRequest;
use Workerman\Protocols\Http\Response as WorkermanResponse;

/** Translates requests that Workerman has parsed, and answers into the bytes that it sends. */
final class Messages
{
    /**
     * Workerman's own parsing of cookies, forms and files is not asked: it is not PHP's.
     *
     * @param string $directory where uploaded files are stored
     */
    public static function request(
        WorkermanRequest $workermanRequest,
        string $client,
        int $port,
        string $directory,
    ): Request {
        $bytes = $workermanRequest->rawBuffer();
        $end = strpos($bytes, "\r\n\r\n");
        $end = $end === false ? strlen($bytes) : $end;
        $request = new Request(
            $workermanRequest->method(),
            $workermanRequest->uri(),
            self::headers(substr($bytes, 0, $end)),
            protocol: 'HTTP/' . $workermanRequest->protocolVersion(),
            remoteAddr: $client,
            remotePort: $port,
        );
        Form::parse($request, $directory, $bytes, $end + 4);

        return $request;
    }

    /**
     * Workerman itself keeps no two headers of one name apart.
     *
     * @return array<string, list<string>>
     */
    private static function headers(string $head): array
    {
        $headers = $spelled = [];
        foreach (array_slice(explode("\r\n", $head), 1) as $line) {
            [$name, $value] = explode(':', $line, 2) + ['', ''];
            $headers[$spelled[strtolower($name)] ??= $name][] = trim($value, " \t");
        }

        return $headers;
    }

    /** Returns the answer as Workerman writes it. */
    public static function bytes(Response $response, Request $request): string
    {
        $headers = [];
        // Workerman recognises names in their usual capitalisation only.
        foreach ($response->removeLengthHeaders()->headers as $name => $values) {
            $headers[ucwords(strtolower((string) $name), '-')] = $values;
        }
        if (self::wantsClose($request)) {
            $headers['Connection'] = ['close'];
        }
        $bytes = (string) new WorkermanResponse($response->status, $headers, $response->body);
        $head = strpos($bytes, "\r\n\r\n");

        return $request->method === 'HEAD' && $head !== false ? substr($bytes, 0, $head + 4) : $bytes;
    }

    /**
     * Tells whether the client wants its connection closed after this answer: RFC 9112, section
     * 9.3.
     */
    public static function wantsClose(Request $request): bool
    {
        $wants = strtolower($request->header('Connection') ?? '');

        return $request->protocol === 'HTTP/1.0' ? $wants !== 'keep-alive' : $wants === 'close';
    }
}
