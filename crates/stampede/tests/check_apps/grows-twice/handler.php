<?php

declare(strict_types=1);

// Planted fault: each /search and each /contact leave 2 KB in a static property.

require_once __DIR__ . '/src/Log.php';

return static function (array $server): array {
    $path = explode('?', $server['REQUEST_URI'], 2)[0];
    $text = match ($path) {
        '/' => 'Welcome.',
        '/about' => 'About us.',
        '/search' => App\Log::keep(bin2hex(random_bytes(1024))) . 'Nothing found.',
        '/contact' => App\Log::keep(bin2hex(random_bytes(1024))) . 'Call us.',
        default => null,
    };
    $links = '<a href="/">home</a> <a href="/search">search</a> <a href="/about">about</a> <a href="/contact">contact</a>';

    return [
        'status' => $text === null ? 404 : 200,
        'headers' => ['Content-Type' => 'text/html; charset=UTF-8'],
        'body' => "<!DOCTYPE html><title>grows-twice</title><p>$text</p><nav>$links</nav>\n",
    ];
};
