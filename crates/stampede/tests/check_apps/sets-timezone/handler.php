<?php

declare(strict_types=1);

// Planted fault: /berlin sets the time zone of the process, and the date on / is of that place from then on.

return static function (array $server): array {
    $path = explode('?', $server['REQUEST_URI'], 2)[0];
    $text = match ($path) {
        '/' => 'Founded ' . date('Y-m-d H:i T', 1700000000),
        '/about' => 'About us.',
        '/berlin' => date_default_timezone_set('Europe/Berlin') ? 'Guten Tag.' : '',
        default => null,
    };
    $links = '<a href="/">home</a> <a href="/about">about</a> <a href="/berlin">berlin</a>';

    return [
        'status' => $text === null ? 404 : 200,
        'headers' => ['Content-Type' => 'text/html; charset=UTF-8'],
        'body' => "<!DOCTYPE html><title>sets-timezone</title><p>$text</p><nav>$links</nav>\n",
    ];
};
