<?php

declare(strict_types=1);

/** Takes a body, or the file `file` of a form, and answers with its length and hash. */
return static function (array $server, string $body = ''): array {
    $file = $_FILES['file']['tmp_name'] ?? null;
    if (is_string($file) && $file !== '') {
        $body = (string) file_get_contents($file);
    }

    return [
        'status' => 200,
        'headers' => ['Content-Type' => 'application/json'],
        'body' => json_encode([
            'app' => 'upload',
            'method' => $server['REQUEST_METHOD'] ?? '',
            'bytes' => strlen($body),
            'sha256' => hash('sha256', $body),
        ], JSON_THROW_ON_ERROR),
    ];
};
