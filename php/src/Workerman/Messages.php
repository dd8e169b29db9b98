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
    private const FORMS = '~^(application/x-www-form-urlencoded|multipart/form-data)\b~i';

    public static function request(WorkermanRequest $workermanRequest, string $client): Request
    {
        $headers = [];
        foreach ((array) $workermanRequest->header() as $name => $value) {
            $headers[ucwords((string) $name, '-')] = [(string) $value];
        }
        // Workerman would also take a JSON body for a form.
        $isForm = preg_match(self::FORMS, (string) $workermanRequest->header('content-type', '')) === 1;
        $files = $isForm ? (array) $workermanRequest->file() : [];

        return new Request(
            $workermanRequest->method(),
            $workermanRequest->uri(),
            $headers,
            $files === [] ? $workermanRequest->rawBody() : '',
            // Workerman would leave the cookies encoded.
            Form::cookies((string) $workermanRequest->header('cookie', '')),
            $isForm ? (array) $workermanRequest->post() : [],
            $files,
            'HTTP/' . $workermanRequest->protocolVersion(),
            $client,
        );
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
