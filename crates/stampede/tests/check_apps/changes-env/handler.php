<?php

declare(strict_types=1);

// Planted fault: /staging sets a variable of the environment, and / is another shop from then on.

return static function (array $server): array {
    $path = explode('?', $server['REQUEST_URI'], 2)[0];
    $text = match ($path) {
        '/' => 'The ' . (getenv('SHOP_STAGE') ?: 'real') . ' shop.',
        '/about' => 'About us.',
        '/staging' => putenv('SHOP_STAGE=staging') ? 'As on the staging machine.' : '',
        default => null,
    };
    $links = '<a href="/">home</a> <a href="/about">about</a> <a href="/staging">staging</a>';

    return [
        'status' => $text === null ? 404 : 200,
        'headers' => ['Content-Type' => 'text/html; charset=UTF-8'],
        'body' => "<!DOCTYPE html><title>changes-env</title><p>$text</p><nav>$links</nav>\n",
    ];
};
