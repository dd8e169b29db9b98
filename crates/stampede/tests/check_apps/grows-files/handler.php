<?php

declare(strict_types=1);

// Planted fault: each /feed leaves a file open.

return static function (array $server): array {
    static $open = [];
    $path = explode('?', $server['REQUEST_URI'], 2)[0];
    $text = match ($path) {
        '/' => 'Welcome.',
        '/about' => 'About us.',
        '/feed' => is_resource($open[] = @fopen(__FILE__, 'r')) ? 'News.' : 'No news: too many open files.',
        default => null,
    };
    $links = '<a href="/">home</a> <a href="/about">about</a> <a href="/feed">feed</a>';

    return [
        'status' => $text === null ? 404 : 200,
        'headers' => ['Content-Type' => 'text/html; charset=UTF-8'],
        'body' => "<!DOCTYPE html><title>grows-files</title><p>$text</p><nav>$links</nav>\n",
    ];
};
