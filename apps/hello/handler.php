<?php

declare(strict_types=1);

/**
 * A plain handler: takes what a runtime knows about the request (the keys of `$_SERVER`) and
 * returns status, headers and body. It keeps nothing between calls.
 */
return static function (array $server): array {
    $keys = [
        'date.timezone', 'display_errors', 'error_log', 'error_reporting', 'log_errors',
        'memory_limit', 'opcache.enable', 'opcache.max_accelerated_files',
        'opcache.memory_consumption', 'opcache.validate_timestamps', 'realpath_cache_size',
        'realpath_cache_ttl', 'short_open_tag',
    ];
    $php = ['version' => PHP_VERSION];
    foreach ($keys as $key) {
        $php[$key] = (string) ini_get($key);
    }
    $headers = [];
    foreach ($server as $key => $value) {
        if (str_starts_with((string) $key, 'HTTP_')) {
            $headers[strtolower(strtr(substr((string) $key, 5), '_', '-'))] = [$value];
        }
    }
    // Sorted, because each SAPI has another order.
    ksort($headers);
    $body = [
        'message' => 'hello',
        'env' => getenv('APP_ENV') ?: 'none',
        'type' => PHP_SAPI,
        'pid' => getmypid(),
        'random_num' => random_int(0, 65535),
        'php' => $php,
        'headers' => (object) $headers,
    ];

    return [
        'status' => 200,
        'headers' => ['Content-Type' => 'application/json'],
        'body' => json_encode($body, JSON_THROW_ON_ERROR | JSON_UNESCAPED_SLASHES),
    ];
};
