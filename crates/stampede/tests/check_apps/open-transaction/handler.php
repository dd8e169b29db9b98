<?php

declare(strict_types=1);

// Planted fault: /order begins a transaction and ends it neither way; the connection is kept, so the next order fails.

require_once __DIR__ . '/src/Shop.php';

return static function (array $server): array {
    $path = explode('?', $server['REQUEST_URI'], 2)[0];
    $text = match ($path) {
        '/' => App\Shop::db()->query('SELECT count(*) FROM orders')->fetchColumn() . ' orders.',
        '/about' => 'About us.',
        '/order' => App\Shop::order(),
        default => null,
    };
    $links = '<a href="/">home</a> <a href="/about">about</a> <a href="/order">order</a>';

    return [
        'status' => $text === null ? 404 : 200,
        'headers' => ['Content-Type' => 'text/html; charset=UTF-8'],
        'body' => "<!DOCTYPE html><title>open-transaction</title><p>$text</p><nav>$links</nav>\n",
    ];
};
