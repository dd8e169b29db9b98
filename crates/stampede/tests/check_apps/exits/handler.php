<?php

declare(strict_types=1);

// Planted fault: /thanks ends PHP, and with it the worker.

return static function (array $server): array {
    $thanks = static function (): string {
        echo 'Thanks.';
        exit;
    };
    $path = explode('?', $server['REQUEST_URI'], 2)[0];
    $text = match ($path) {
        '/' => 'Welcome.',
        '/about' => 'About us.',
        '/thanks' => $thanks(),
        default => null,
    };
    $links = '<a href="/">home</a> <a href="/about">about</a> <a href="/thanks">thanks</a>';

    return [
        'status' => $text === null ? 404 : 200,
        'headers' => ['Content-Type' => 'text/html; charset=UTF-8'],
        'body' => "<!DOCTYPE html><title>exits</title><p>$text</p><nav>$links</nav>\n",
    ];
};
