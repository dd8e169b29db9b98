<?php

declare(strict_types=1);

namespace Stampede\Worker\RoadRunner;

use Stampede\Worker\Problem;
use Stampede\Worker\Request;
use Stampede\Worker\Response;

/**
 * The payload of a frame in RoadRunner's HTTP plugin: a context, whose length is the frame's
 * option, and the body. The context is a protobuf message; before version 2025 it may be JSON.
 */
final class Message
{
    public static function request(Frame $frame): Request
    {
        $length = $frame->options[0] ?? -1;
        if ($length < 0 || $length > strlen($frame->payload)) {
            throw new Problem('a request of RoadRunner does not say where its body begins');
        }
        $context = substr($frame->payload, 0, $length);
        $body = (string) substr($frame->payload, $length);
        $fields = $frame->flags & Frame::PROTO ? self::fromProto($context) : self::fromJson($context);

        return self::buildRequest($fields, $body);
    }

    public static function response(Response $response, int $codec): Frame
    {
        $context = $codec & Frame::PROTO
            ? Proto::encodeNumber(1, $response->status) . Proto::encodeMap(2, $response->headers)
            : json_encode(
                ['status' => $response->status, 'headers' => (object) $response->headers],
                JSON_THROW_ON_ERROR | JSON_INVALID_UTF8_SUBSTITUTE,
            );

        return new Frame($codec, $context . $response->body, [strlen($context)]);
    }

    /**
     * Also takes a request of spiral/roadrunner-http, which uses the same names.
     *
     * @param array<string, mixed> $fields
     */
    public static function buildRequest(array $fields, string $body): Request
    {
        $uri = (string) $fields['uri'];
        $host = parse_url($uri, PHP_URL_HOST);
        $port = parse_url($uri, PHP_URL_PORT);
        // Not split by `parse_url`: a path that makes no valid URL is still what the client asked
        // for.
        $target = preg_replace('~^[a-z]+://[^/?#]*~i', '', $uri);
        $headers = Response::normalizeHeaders((array) $fields['headers']);
        if ($host && !isset($headers['Host']) && !isset($headers['host'])) {
            $headers = ['Host' => [$port ? "$host:$port" : $host]] + $headers;
        }
        $parsed = (bool) $fields['parsed'];
        $form = $parsed && $body !== '' ? json_decode($body, true) : [];

        return new Request(
            (string) $fields['method'],
            str_starts_with((string) $target, '/') ? $target : "/$target",
            $headers,
            $parsed ? '' : $body,
            array_map([self::class, 'lastValue'], (array) $fields['cookies']),
            is_array($form) ? $form : [],
            self::files((array) $fields['uploads']),
            (string) $fields['protocol'],
            (string) $fields['remoteAddr'],
            str_starts_with($uri, 'https:') ? 'https' : 'http',
        );
    }

    /** @return array<string, mixed> */
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
            'cookies' => Proto::decodeMap($decoded[6] ?? []),
            'parsed' => $one(8) === '1',
            'uploads' => json_decode($one(9) ?: '[]', true) ?? [],
        ];
    }

    /** @return array<string, mixed> */
    private static function fromJson(string $context): array
    {
        $fields = json_decode($context, true);
        if (!is_array($fields) || !isset($fields['method'], $fields['uri'])) {
            throw new Problem('a request of RoadRunner is neither protobuf nor JSON');
        }
        $empty = ['headers' => [], 'cookies' => [], 'parsed' => false, 'uploads' => []];

        return $fields + $empty + ['remoteAddr' => '', 'protocol' => 'HTTP/1.1'];
    }

    private static function lastValue(mixed $values): string
    {
        $values = (array) $values;

        return (string) end($values);
    }

    /**
     * @param array<mixed> $tree
     * @return array<mixed>
     */
    private static function files(array $tree): array
    {
        return array_map(static function (mixed $node): mixed {
            if (!is_array($node) || !array_key_exists('tmpName', $node)) {
                return self::files((array) $node);
            }

            return [
                'name' => (string) $node['name'],
                'type' => (string) $node['mime'],
                'size' => (int) $node['size'],
                'error' => (int) $node['error'],
                'tmp_name' => (string) $node['tmpName'],
            ];
        }, $tree);
    }
}
