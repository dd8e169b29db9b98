<?php

declare(strict_types=1);

namespace App\Controller;

use Symfony\Component\HttpFoundation\JsonResponse;

/** Answers as the app of articles 000 and 003: a random number, the process and its settings. */
final class HomeController
{
    private const KEYS = [
        'date.timezone', 'display_errors', 'error_log', 'error_reporting', 'log_errors',
        'memory_limit', 'opcache.enable', 'opcache.max_accelerated_files',
        'opcache.memory_consumption', 'opcache.validate_timestamps', 'realpath_cache_size',
        'realpath_cache_ttl', 'short_open_tag',
    ];

    public function __invoke(): JsonResponse
    {
        $php = ['version' => PHP_VERSION];
        foreach (self::KEYS as $key) {
            $php[$key] = (string) ini_get($key);
        }

        return new JsonResponse([
            'env' => getenv('APP_ENV') ?: 'none',
            'type' => PHP_SAPI,
            'pid' => getmypid(),
            'random_num' => random_int(0, 65535),
            'php' => $php,
        ]);
    }
}
