<?php

declare(strict_types=1);

// Nothing is wrong with this one: it keeps its connection, as a worker may, and reads from a database of one file.

require_once __DIR__ . '/src/Shop.php';

return static function (array $server): array {
    $path = explode('?', $server['REQUEST_URI'], 2)[0];
    $text = match ($path) {
        '/' => 'Welcome.',
        '/about' => 'About us.',
        '/teas' => htmlspecialchars(implode(', ', App\Shop::teas())),
        '/sold' => App\Shop::sold() ? 'Sold, and taken back.' : '',
        default => null,
    };
    $links = '<a href="/">home</a> <a href="/about">about</a> <a href="/teas">teas</a> <a href="/sold">sold</a>';

    return [
        'status' => $text === null ? 404 : 200,
        'headers' => ['Content-Type' => 'text/html; charset=UTF-8'],
        'body' => "<!DOCTYPE html><title>clean-db</title><p>$text</p><nav>$links</nav>\n",
    ];
};
