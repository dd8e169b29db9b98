<?php

declare(strict_types=1);

// Planted faults: /import has SQLite check foreign keys, /export has PDO fetch objects, and both leave the kept
// connection so; then /orders takes no order for a customer that is not there, and /teas fails.

require_once __DIR__ . '/src/Shop.php';

return static function (array $server): array {
    $path = explode('?', $server['REQUEST_URI'], 2)[0];
    $text = match ($path) {
        '/' => 'Welcome.',
        '/teas' => htmlspecialchars(App\Shop::tea()),
        '/orders' => App\Shop::order(),
        '/import' => App\Shop::import(),
        '/export' => App\Shop::export(),
        default => null,
    };
    $links = '<a href="/">home</a> <a href="/teas">teas</a> <a href="/orders">orders</a>'
        . ' <a href="/import">import</a> <a href="/export">export</a>';

    return [
        'status' => $text === null ? 404 : 200,
        'headers' => ['Content-Type' => 'text/html; charset=UTF-8'],
        'body' => "<!DOCTYPE html><title>sets-session</title><p>$text</p><nav>$links</nav>\n",
    ];
};
