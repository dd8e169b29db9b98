<?php

declare(strict_types=1);

// Planted fault: /import has MariaDB take what does not fit, and leaves the kept connection so; /check tells by
// what it answers.

require_once __DIR__ . '/src/Shop.php';

return static function (array $server): array {
    $path = explode('?', $server['REQUEST_URI'], 2)[0];
    $text = match ($path) {
        '/' => 'Welcome.',
        '/about' => 'About us.',
        '/check' => App\Shop::takes('Darjeeling') ? 'It fits.' : 'It does not fit.',
        '/import' => App\Shop::import(),
        default => null,
    };
    $links = '<a href="/">home</a> <a href="/about">about</a> <a href="/check">check</a> <a href="/import">import</a>';

    return [
        'status' => $text === null ? 404 : 200,
        'headers' => ['Content-Type' => 'text/html; charset=UTF-8'],
        'body' => "<!DOCTYPE html><title>sets-session-mariadb</title><p>$text</p><nav>$links</nav>\n",
    ];
};
