<?php

declare(strict_types=1);

/** Returns an answer by its kind. */
return static fn (string $kind): array => match ($kind) {
    'created' => ['status' => 201, 'headers' => ['Location' => '/new', 'X-One' => '1'], 'body' => 'made'],
    'redirect' => ['status' => 302, 'headers' => ['Location' => '/to'], 'body' => ''],
    'cookies' => ['status' => 200, 'headers' => ['Set-Cookie' => ['a=1; Path=/', 'b=2; HttpOnly']], 'body' => 'x'],
    'twice' => ['status' => 200, 'headers' => ['X-Twice' => ['1', '2']], 'body' => 'x'],
    'lower' => ['status' => 200, 'headers' => ['content-type' => 'text/plain', 'x-lower' => 'a'], 'body' => 'x'],
    'type' => ['status' => 200, 'headers' => ['Content-Type' => 'image/svg+xml'], 'body' => '<svg/>'],
    'none' => ['status' => 204, 'headers' => [], 'body' => ''],
    'unmodified' => ['status' => 304, 'headers' => ['ETag' => '"e"'], 'body' => ''],
    'missing' => ['status' => 404, 'headers' => [], 'body' => 'no'],
    'teapot' => ['status' => 418, 'headers' => [], 'body' => 'tea'],
    'failed' => ['status' => 500, 'headers' => [], 'body' => 'so'],
    'busy' => ['status' => 503, 'headers' => ['Retry-After' => '1'], 'body' => 'later'],
    'empty' => ['status' => 200, 'headers' => [], 'body' => ''],
    'bytes' => [
        'status' => 200,
        'headers' => ['Content-Type' => 'application/octet-stream'],
        'body' => implode('', array_map('chr', range(0, 255))),
    ],
    'long' => ['status' => 200, 'headers' => [], 'body' => str_repeat('0123456789abcdef', 40_000)],
    'long-header' => ['status' => 200, 'headers' => ['X-Long' => str_repeat('h', 6_000)], 'body' => 'x'],
    'pieces' => ['status' => 200, 'headers' => ['Content-Type' => 'text/plain'], 'body' => ['one ', 'two ', 'three']],
    'pieces-long' => ['status' => 200, 'headers' => [], 'body' => array_fill(0, 64, str_repeat('p', 10_000))],
    'printed' => (static function (): array {
        echo 'printed ';

        return ['status' => 200, 'headers' => [], 'body' => 'returned'];
    })(),
    'exit' => (static function (): array {
        http_response_code(403);
        echo 'so far';
        exit;
    })(),
    'exit-text' => exit('the text'),
    'fatal' => [ini_set('memory_limit', (string) (memory_get_usage() + (4 << 20))), str_repeat('x', 64 << 20)],
    'exception' => throw new RuntimeException('why'),
    default => ['status' => 400, 'headers' => [], 'body' => "there is no answer `$kind`"],
};
