<?php

declare(strict_types=1);

/** Waits `?ms=` milliseconds, as an app waits for another server's answer. */
return static function (array $server): array {
    $ms = $_GET['ms'] ?? '10';
    if (!is_string($ms) || preg_match('/^[0-9]{1,5}$/', $ms) !== 1) {
        return [
            'status' => 400,
            'headers' => ['Content-Type' => 'application/json'],
            'body' => '{"error":"`ms` must be a whole number of at most 5 digits"}',
        ];
    }
    $began = hrtime(true);
    usleep((int) $ms * 1000);
    $slept = intdiv(hrtime(true) - $began, 1000000);

    return [
        'status' => 200,
        'headers' => ['Content-Type' => 'application/json'],
        'body' => json_encode(['app' => 'sleep', 'ms' => (int) $ms, 'slept_ms' => $slept], JSON_THROW_ON_ERROR),
    ];
};
