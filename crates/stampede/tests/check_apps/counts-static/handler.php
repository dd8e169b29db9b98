<?php

declare(strict_types=1);

// Planted fault: /search notes each day's searches one by one, a byte each: less than a slope of PHP's memory tells.

require_once __DIR__ . '/src/Searches.php';

return static function (array $server): array {
    $path = explode('?', $server['REQUEST_URI'], 2)[0];
    $text = match ($path) {
        '/' => App\Searches::menu(),
        '/about' => 'About us.',
        '/search' => App\Searches::count(),
        default => null,
    };
    $links = '<a href="/">home</a> <a href="/about">about</a> <a href="/search">search</a>';

    return [
        'status' => $text === null ? 404 : 200,
        'headers' => ['Content-Type' => 'text/html; charset=UTF-8'],
        'body' => "<!DOCTYPE html><title>counts-static</title><p>$text</p><nav>$links</nav>\n",
    ];
};
