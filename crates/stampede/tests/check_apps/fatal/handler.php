<?php

declare(strict_types=1);

// Planted faults: /broken calls a function that is not there; /heavy takes more memory than there is, which nothing
// can catch, so that the worker ends.

return static function (array $server): array {
    $heavy = static function (): string {
        ini_set('memory_limit', '16M');

        return str_repeat('x', 64 << 20);
    };
    $path = explode('?', $server['REQUEST_URI'], 2)[0];
    $text = match ($path) {
        '/' => 'Welcome.',
        '/about' => 'About us.',
        '/broken' => nothing_of_that_name(),
        '/heavy' => 'Heavy: ' . strlen($heavy()),
        default => null,
    };
    $links = '<a href="/">home</a> <a href="/about">about</a> <a href="/broken">broken</a> <a href="/heavy">heavy</a>';

    return [
        'status' => $text === null ? 404 : 200,
        'headers' => ['Content-Type' => 'text/html; charset=UTF-8'],
        'body' => "<!DOCTYPE html><title>fatal</title><p>$text</p><nav>$links</nav>\n",
    ];
};
