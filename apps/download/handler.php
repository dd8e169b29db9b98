<?php

declare(strict_types=1);

/** Sends `?kb=` KiB: lines of 64 bytes, sixteen to the KiB. */
return static function (array $server): array {
    $kb = $_GET['kb'] ?? '10';
    if (!is_string($kb) || preg_match('/^[0-9]{1,5}$/', $kb) !== 1) {
        return [
            'status' => 400,
            'headers' => ['Content-Type' => 'application/json'],
            'body' => '{"error":"`kb` must be a whole number of at most 5 digits"}',
        ];
    }
    $line = str_repeat('0123456789abcdef', 3) . "0123456789abcde\n";

    return [
        'status' => 200,
        'headers' => ['Content-Type' => 'text/plain; charset=UTF-8'],
        'body' => str_repeat($line, (int) $kb * 16),
    ];
};
