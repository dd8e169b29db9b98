<?php

declare(strict_types=1);

// Planted fault: /de sets a locale for the process, and / is written in it from then on.

return static function (array $server): array {
    $path = explode('?', $server['REQUEST_URI'], 2)[0];
    $text = match ($path) {
        '/' => 'Dates are written as in ' . setlocale(LC_TIME, '0'),
        '/about' => 'About us.',
        '/de' => 'Hallo, ' . setlocale(LC_TIME, ['de_DE.UTF-8', 'de_DE', 'C.UTF-8', 'POSIX']),
        default => null,
    };
    $links = '<a href="/">home</a> <a href="/about">about</a> <a href="/de">de</a>';

    return [
        'status' => $text === null ? 404 : 200,
        'headers' => ['Content-Type' => 'text/html; charset=UTF-8'],
        'body' => "<!DOCTYPE html><title>sets-locale</title><p>$text</p><nav>$links</nav>\n",
    ];
};
