<?php

declare(strict_types=1);

// Planted fault: /report works longer than `max_execution_time`, which ends the worker; 1 s, set there, is in
// force for what follows too.

return static function (array $server): array {
    $count = static function (): int {
        set_time_limit(1);
        $until = hrtime(true) + 3_000_000_000;
        for ($number = 0; hrtime(true) < $until; $number++) {
        }

        return $number;
    };
    $path = explode('?', $server['REQUEST_URI'], 2)[0];
    $text = match ($path) {
        '/' => 'Welcome.',
        '/about' => 'About us.',
        '/report' => 'Counted to ' . $count(),
        default => null,
    };
    $links = '<a href="/">home</a> <a href="/about">about</a> <a href="/report">report</a>';

    return [
        'status' => $text === null ? 404 : 200,
        'headers' => ['Content-Type' => 'text/html; charset=UTF-8'],
        'body' => "<!DOCTYPE html><title>slow</title><p>$text</p><nav>$links</nav>\n",
    ];
};
