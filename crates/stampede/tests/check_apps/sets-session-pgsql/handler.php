<?php

declare(strict_types=1);

// Planted fault: /archive has PostgreSQL look for tables elsewhere, and leaves the kept connection so; /tea shows
// what it finds.

require_once __DIR__ . '/src/Shop.php';

return static function (array $server): array {
    $path = explode('?', $server['REQUEST_URI'], 2)[0];
    $text = match ($path) {
        '/' => 'Welcome.',
        '/about' => 'About us.',
        '/tea' => htmlspecialchars(App\Shop::tea()),
        '/archive' => htmlspecialchars(App\Shop::archive()),
        default => null,
    };
    $links = '<a href="/">home</a> <a href="/about">about</a> <a href="/tea">tea</a> <a href="/archive">archive</a>';

    return [
        'status' => $text === null ? 404 : 200,
        'headers' => ['Content-Type' => 'text/html; charset=UTF-8'],
        'body' => "<!DOCTYPE html><title>sets-session-pgsql</title><p>$text</p><nav>$links</nav>\n",
    ];
};
