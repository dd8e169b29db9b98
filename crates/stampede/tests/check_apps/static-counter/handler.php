<?php

declare(strict_types=1);

// Planted fault: /visits counts up for as long as the process lives.

return static function (array $server): array {
    static $visits = 0;
    $path = explode('?', $server['REQUEST_URI'], 2)[0];
    $text = match ($path) {
        '/' => 'Welcome.',
        '/about' => 'About us.',
        '/visits' => 'Visitor number ' . ++$visits,
        default => null,
    };
    $links = '<a href="/">home</a> <a href="/about">about</a> <a href="/visits">visits</a>';

    return [
        'status' => $text === null ? 404 : 200,
        'headers' => ['Content-Type' => 'text/html; charset=UTF-8'],
        'body' => "<!DOCTYPE html><title>static-counter</title><p>$text</p><nav>$links</nav>\n",
    ];
};
