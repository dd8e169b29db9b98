<?php

declare(strict_types=1);

// Planted fault: /report begins an output buffer and never ends it.

return static function (array $server): array {
    $path = explode('?', $server['REQUEST_URI'], 2)[0];
    $text = match ($path) {
        '/' => 'Welcome.',
        '/about' => 'About us.',
        '/report' => ob_start() ? 'A report.' : '',
        default => null,
    };
    $links = '<a href="/">home</a> <a href="/about">about</a> <a href="/report">report</a>';

    return [
        'status' => $text === null ? 404 : 200,
        'headers' => ['Content-Type' => 'text/html; charset=UTF-8'],
        'body' => "<!DOCTYPE html><title>leaves-buffer</title><p>$text</p><nav>$links</nav>\n",
    ];
};
