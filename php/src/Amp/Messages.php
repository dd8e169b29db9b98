<?php

declare(strict_types=1);

namespace Stampede\Worker\Amp;

use Amp\Http\Server\Request as AmpRequest;
use Amp\Http\Server\Response as AmpResponse;
use Amp\Socket\InternetAddress;
use Stampede\Worker\Form;
use Stampede\Worker\Request;
use Stampede\Worker\Response;

/** A request as AMPHP has it, and the answer that it sends. */
final class Messages
{
    /**
     * @param string $body the whole of it
     * @param string $directory for what was uploaded
     */
    public static function request(AmpRequest $asked, string $body, string $directory): Request
    {
        $uri = $asked->getUri();
        $client = $asked->getClient()->getRemoteAddress();
        // It hands out an empty query where there is none.
        $query = $uri->getQuery() === '' ? '' : '?' . $uri->getQuery();
        $request = new Request(
            $asked->getMethod(),
            ($uri->getPath() ?: '/') . $query,
            $asked->getHeaders(),
            $body,
            protocol: 'HTTP/' . $asked->getProtocolVersion(),
            remoteAddr: $client instanceof InternetAddress ? $client->getAddress() : '127.0.0.1',
        );
        Form::read($request, $directory);

        return $request;
    }

    public static function response(Response $response): AmpResponse
    {
        $framed = $response->framed();
        // Without a length it would go in chunks. RFC 9110, section 8.6: these have none.
        if ($framed->status !== 204 && $framed->status !== 304) {
            $framed->with('Content-Length', (string) strlen($framed->body));
        }

        return new AmpResponse($framed->status, $framed->headers, $framed->body);
    }
}
