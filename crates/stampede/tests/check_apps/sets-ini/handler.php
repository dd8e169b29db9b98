<?php

declare(strict_types=1);

// Planted fault: /rough sets `precision` for the process, and the price on / is cut short from then on.

return static function (array $server): array {
    $share = static fn (float $price): float => $price / 7;
    $path = explode('?', $server['REQUEST_URI'], 2)[0];
    $text = match ($path) {
        '/' => 'The price is ' . $share(59.97),
        '/about' => 'About us.',
        '/rough' => is_string(ini_set('precision', '2')) ? 'About ' . $share(59.97) : '',
        default => null,
    };
    $links = '<a href="/">home</a> <a href="/about">about</a> <a href="/rough">rough</a>';

    return [
        'status' => $text === null ? 404 : 200,
        'headers' => ['Content-Type' => 'text/html; charset=UTF-8'],
        'body' => "<!DOCTYPE html><title>sets-ini</title><p>$text</p><nav>$links</nav>\n",
    ];
};
