<?php

declare(strict_types=1);

namespace Stampede\Worker\Amp;

use Amp\Http\Server\Request as AmpRequest;
use Amp\Http\Server\Response as AmpResponse;
use Amp\Socket\InternetAddress;
use Stampede\Worker\Request;
use Stampede\Worker\Response;

/** Translates AMPHP's requests into ours and our answers into AMPHP's. */
final class Messages
{
    /** Returns the request without its body, which may still be coming. */
    public static function request(AmpRequest $ampRequest): Request
    {
        $uri = $ampRequest->getUri();
        $client = $ampRequest->getClient()->getRemoteAddress();
        // AMPHP returns an empty query where the URI has none.
        $query = $uri->getQuery() === '' ? '' : '?' . $uri->getQuery();

        return new Request(
            $ampRequest->getMethod(),
            ($uri->getPath() ?: '/') . $query,
            $ampRequest->getHeaders(),
            protocol: 'HTTP/' . $ampRequest->getProtocolVersion(),
            remoteAddr: $client instanceof InternetAddress ? $client->getAddress() : '127.0.0.1',
            remotePort: $client instanceof InternetAddress ? $client->getPort() : 0,
        );
    }

    public static function response(Response $response): AmpResponse
    {
        $response = $response->removeLengthHeaders();
        // Without a length AMPHP sends chunks. RFC 9110, section 8.6: 204 and 304 have no length.
        if ($response->status !== 204 && $response->status !== 304) {
            $response->setHeader('Content-Length', (string) strlen($response->body));
        }

        return new AmpResponse($response->status, $response->headers, $response->body);
    }
}
