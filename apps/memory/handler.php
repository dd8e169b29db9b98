<?php

declare(strict_types=1);

/** Allocates `?mb=` MiB, writes to every page of them, and frees them. */
return static function (array $server): array {
    $mb = $_GET['mb'] ?? '16';
    if (!is_string($mb) || preg_match('/^[0-9]{1,4}$/', $mb) !== 1) {
        return [
            'status' => 400,
            'headers' => ['Content-Type' => 'application/json'],
            'body' => '{"error":"`mb` must be a whole number of at most 4 digits"}',
        ];
    }
    $taken = str_repeat('x', (int) $mb * 1048576);
    $bytes = strlen($taken);
    unset($taken);

    return [
        'status' => 200,
        'headers' => ['Content-Type' => 'application/json'],
        'body' => json_encode(['app' => 'memory', 'mb' => (int) $mb, 'bytes' => $bytes], JSON_THROW_ON_ERROR),
    ];
};
