<?php

declare(strict_types=1);

// Planted fault: headers of earlier requests stay in a global array, and /headers shows them to others.

return static function (array $server): array {
    foreach (['HTTP_ACCEPT_LANGUAGE', 'HTTP_AUTHORIZATION', 'HTTP_COOKIE', 'HTTP_USER_AGENT', 'HTTP_X_USER'] as $name) {
        if (isset($server[$name])) {
            $GLOBALS['headers'][$name] ??= $server[$name];
        }
    }
    $GLOBALS['headers'] ??= [];
    $path = explode('?', $server['REQUEST_URI'], 2)[0];
    $text = match ($path) {
        '/' => 'Welcome.',
        '/about' => 'About us.',
        '/headers' => htmlspecialchars(implode(', ', $GLOBALS['headers'])),
        default => null,
    };
    $links = '<a href="/">home</a> <a href="/about">about</a> <a href="/headers">headers</a>';

    return [
        'status' => $text === null ? 404 : 200,
        'headers' => ['Content-Type' => 'text/html; charset=UTF-8'],
        'body' => "<!DOCTYPE html><title>leaks-header</title><p>$text</p><nav>$links</nav>\n",
    ];
};
