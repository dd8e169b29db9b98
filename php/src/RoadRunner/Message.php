<?php

declare(strict_types=1);

namespace Stampede\Worker\RoadRunner;

use Stampede\Worker\Form;
use Stampede\Worker\Problem;
use Stampede\Worker\Request;
use Stampede\Worker\Response;

/**
 * The payload of a frame in RoadRunner's HTTP plugin: a context, whose length is the frame's
 * option, and the body. The context is a protobuf message; before version 2024.1 it is JSON.
 *
 * @phpstan-type Fields array{
 *     method: scalar, uri: scalar, protocol: scalar, remoteAddr: scalar,
 *     headers: ?array<string, scalar|null|array<scalar|null>>, parsed?: mixed,
 * }
 */
final class Message
{
    /** @param string $directory where uploaded files are stored */
    public static function request(Frame $frame, string $directory): Request
    {
        $length = $frame->options[0] ?? -1;
        if ($length < 0 || $length > strlen($frame->payload)) {
            throw new Problem('a request of RoadRunner does not say where its body begins');
        }
        $fields = $frame->flags & Frame::PROTO ? self::fromProto($frame->payload) : self::fromJson($frame->payload);

        return self::buildRequest($fields, $directory, $frame->body);
    }

    public static function response(Response $response, int $codec): Frame
    {
        $context = $codec & Frame::PROTO
            ? Proto::encodeNumber(1, $response->status) . Proto::encodeMap(2, $response->headers)
            : json_encode(
                ['status' => $response->status, 'headers' => (object) $response->headers],
                JSON_THROW_ON_ERROR | JSON_INVALID_UTF8_SUBSTITUTE,
            );

        return new Frame($codec, $context, [strlen($context)], body: $response->body);
    }

    /**
     * Also takes a request of spiral/roadrunner-http, which uses the same names. RoadRunner leaves
     * forms and cookies to the worker (`raw_body`).
     *
     * @param Fields $fields
     * @param string $directory where uploaded files are stored
     */
    public static function buildRequest(array $fields, string $directory, string $body): Request
    {
        if ($fields['parsed'] ?? false) {
            throw new Problem('RoadRunner has parsed a form itself: its configuration needs '
                . '`http.raw_body: true`, which the version must know');
        }
        $uri = (string) $fields['uri'];
        $host = parse_url($uri, PHP_URL_HOST);
        $port = parse_url($uri, PHP_URL_PORT);
        // Not split by `parse_url`: a path that makes no valid URL is still what the client asked
        // for.
        $target = (string) preg_replace('~^[a-z]+://[^/?#]*~i', '', $uri);
        $headers = Response::normalizeHeaders((array) $fields['headers']);
        if ($host && !isset($headers['Host']) && !isset($headers['host'])) {
            $headers = ['Host' => [$port ? "$host:$port" : $host]] + $headers;
        }
        $request = new Request(
            (string) $fields['method'],
            str_starts_with($target, '/') ? $target : "/$target",
            $headers,
            protocol: (string) $fields['protocol'],
            remoteAddr: (string) $fields['remoteAddr'],
            scheme: str_starts_with($uri, 'https:') ? 'https' : 'http',
        );
        Form::parse($request, $directory, $body);

        return $request;
    }

    /** @return Fields */
    private static function fromProto(string $context): array
    {
        $decoded = Proto::decode($context);
        $one = static fn (int $field): string => (string) ($decoded[$field][0] ?? '');

        return [
            'remoteAddr' => $one(1),
            'protocol' => $one(2),
            'method' => $one(3),
            'uri' => $one(4),
            'headers' => Proto::decodeMap($decoded[5] ?? []),
            'parsed' => $one(8) === '1',
        ];
    }

    /** @return Fields */
    private static function fromJson(string $context): array
    {
        $fields = json_decode($context, true);
        if (!is_array($fields) || !isset($fields['method'], $fields['uri'])) {
            throw new Problem('a request of RoadRunner is neither protobuf nor JSON');
        }
        $fields += ['headers' => [], 'remoteAddr' => '', 'protocol' => 'HTTP/1.1'];
        /** @var Fields $fields */

        return $fields;
    }
}
