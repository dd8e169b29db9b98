<?php

declare(strict_types=1);

return static function (array $server): array {
    $path = parse_url($server['REQUEST_URI'], PHP_URL_PATH);
    $headers = ['Content-Type' => 'application/json'];
    $file = $_FILES['file'] ?? null;
    if ($path === '/cookies') {
        $headers['Set-Cookie'] = ['first=1; path=/', 'second=2; path=/'];
    }
    $body = match ($path) {
        '/' => [],
        '/form' => ['form' => $_POST, 'query' => $_GET],
        '/cookies' => ['cookies' => $_COOKIE],
        '/upload' => [
            'name' => $file['name'],
            'bytes' => $file['size'],
            'sha256' => hash_file('sha256', $file['tmp_name']),
        ],
        default => null,
    };

    return [
        'status' => $body === null ? 404 : 200,
        'headers' => $headers,
        'body' => json_encode($body),
    ];
};
