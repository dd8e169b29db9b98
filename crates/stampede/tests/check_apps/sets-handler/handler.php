<?php

declare(strict_types=1);

// Planted fault: /strict has every notice thrown and never takes that back: /list fails from then on.

return static function (array $server): array {
    $throw = static fn (int $kind, string $what): bool => throw new ErrorException($what, 0, $kind);
    $path = explode('?', $server['REQUEST_URI'], 2)[0];
    $text = match ($path) {
        '/' => 'Welcome.',
        '/about' => 'About us.',
        '/list' => 'A list: ' . (@file_get_contents('list.txt') ?: 'empty'),
        '/strict' => is_callable(set_error_handler($throw) ?? $throw) ? 'Strict.' : '',
        default => null,
    };
    $links = '<a href="/">home</a> <a href="/about">about</a> <a href="/list">list</a> <a href="/strict">strict</a>';

    return [
        'status' => $text === null ? 404 : 200,
        'headers' => ['Content-Type' => 'text/html; charset=UTF-8'],
        'body' => "<!DOCTYPE html><title>sets-handler</title><p>$text</p><nav>$links</nav>\n",
    ];
};
