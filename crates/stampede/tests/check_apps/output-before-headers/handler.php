<?php

declare(strict_types=1);

// Planted fault: /old prints before it sets status and headers. Per request, PHP sends its own.

return static function (array $server): array {
    $old = static function (): string {
        while (ob_get_level() > 0 && @ob_end_flush()) {
        }
        echo '<!-- moved -->';
        flush();

        return 'This page is at /about now.';
    };
    $path = explode('?', $server['REQUEST_URI'], 2)[0];
    $text = match ($path) {
        '/' => 'Welcome.',
        '/about' => 'About us.',
        '/old' => $old(),
        default => null,
    };
    $links = '<a href="/">home</a> <a href="/about">about</a> <a href="/old">old</a>';

    return [
        'status' => $text === null ? 404 : ($path === '/old' ? 301 : 200),
        'headers' => ['Content-Type' => 'text/html; charset=UTF-8'] + ($path === '/old' ? ['Location' => '/about'] : []),
        'body' => "<!DOCTYPE html><title>output-before-headers</title><p>$text</p><nav>$links</nav>\n",
    ];
};
