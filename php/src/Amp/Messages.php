<?php

declare(strict_types=1);

namespace Stampede\Worker\Amp;

use Amp\Http\Server\Request as AmpRequest;
use Amp\Http\Server\Response as AmpResponse;
use Amp\Socket\InternetAddress;
use Stampede\Worker\Form;
use Stampede\Worker\Request;
use Stampede\Worker\Response;

/** Translates AMPHP's requests into ours and our answers into AMPHP's. */
final class Messages
{
    /**
     * @param string $body the whole body
     * @param string $directory where uploaded files are stored
     */
    public static function request(AmpRequest $asked, string $body, string $directory): Request
    {
        $uri = $asked->getUri();
        $client = $asked->getClient()->getRemoteAddress();
        // AMPHP returns an empty query where the URI has none.
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
        // Without a length AMPHP sends chunks. RFC 9110, section 8.6: 204 and 304 have no length.
        if ($framed->status !== 204 && $framed->status !== 304) {
            $framed->with('Content-Length', (string) strlen($framed->body));
        }

        return new AmpResponse($framed->status, $framed->headers, $framed->body);
    }
}
