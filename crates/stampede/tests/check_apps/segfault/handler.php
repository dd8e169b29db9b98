<?php

declare(strict_types=1);

// Planted fault: /crash ends the process as a fault of memory does.

return static function (array $server): array {
    $path = explode('?', $server['REQUEST_URI'], 2)[0];
    $text = match ($path) {
        '/' => 'Welcome.',
        '/about' => 'About us.',
        '/crash' => 'Crashed: ' . posix_kill((int) getmypid(), 11),
        default => null,
    };
    $links = '<a href="/">home</a> <a href="/about">about</a> <a href="/crash">crash</a>';

    return [
        'status' => $text === null ? 404 : 200,
        'headers' => ['Content-Type' => 'text/html; charset=UTF-8'],
        'body' => "<!DOCTYPE html><title>segfault</title><p>$text</p><nav>$links</nav>\n",
    ];
};
