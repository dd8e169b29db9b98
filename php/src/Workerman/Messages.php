<?php

declare(strict_types=1);

namespace Stampede\Worker\Workerman;

use Stampede\Worker\Form;
use Stampede\Worker\Request;
use Stampede\Worker\Response;
use Workerman\Protocols\Http\Request as WorkermanRequest;
use Workerman\Protocols\Http\Response as WorkermanResponse;

/** A request as Workerman has parsed it, and the answer that it sends. */
final class Messages
{
    private const FORMS = '~^(application/x-www-form-urlencoded|multipart/form-data)\b~i';

    public static function request(WorkermanRequest $asked, string $client): Request
    {
        $headers = [];
        foreach ((array) $asked->header() as $name => $value) {
            $headers[ucwords((string) $name, '-')] = [(string) $value];
        }
        // It would take a body of JSON for a form, too.
        $isForm = preg_match(self::FORMS, (string) $asked->header('content-type', '')) === 1;
        $files = $isForm ? (array) $asked->file() : [];

        return new Request(
            $asked->method(),
            $asked->uri(),
            $headers,
            $files === [] ? $asked->rawBody() : '',
            // It would leave them encoded.
            Form::cookies((string) $asked->header('cookie', '')),
            $isForm ? (array) $asked->post() : [],
            $files,
            'HTTP/' . $asked->protocolVersion(),
            $client,
        );
    }

    /** The answer as Workerman writes it. */
    public static function bytes(Response $response, Request $request): string
    {
        $headers = [];
        // It knows names by their usual letters only.
        foreach ($response->framed()->headers as $name => $values) {
            $headers[ucwords(strtolower((string) $name), '-')] = $values;
        }
        if (self::closes($request)) {
            $headers['Connection'] = ['close'];
        }
        $bytes = (string) new WorkermanResponse($response->status, $headers, $response->body);
        $head = strpos($bytes, "\r\n\r\n");

        return $request->method === 'HEAD' && $head !== false ? substr($bytes, 0, $head + 4) : $bytes;
    }

    /** Whether the client wants no further answer on its connection: RFC 9112, section 9.3. */
    public static function closes(Request $request): bool
    {
        $wants = strtolower($request->header('Connection') ?? '');

        return $request->protocol === 'HTTP/1.0' ? $wants !== 'keep-alive' : $wants === 'close';
    }
}
