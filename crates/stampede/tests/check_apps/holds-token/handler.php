<?php

declare(strict_types=1);

// Planted fault: the last user stays in a static property; no page shows it.

require_once __DIR__ . '/src/Session.php';

return static function (array $server): array {
    $who = (string) ($_COOKIE['user'] ?? $_GET['user'] ?? $server['HTTP_X_USER'] ?? 'guest');
    $path = explode('?', $server['REQUEST_URI'], 2)[0];
    $text = match ($path) {
        '/' => 'Welcome.',
        '/about' => 'About us.',
        '/account' => App\Session::enter($who) . 'Your account.',
        default => null,
    };
    $links = '<a href="/">home</a> <a href="/about">about</a> <a href="/account">account</a>';

    return [
        'status' => $text === null ? 404 : 200,
        'headers' => ['Content-Type' => 'text/html; charset=UTF-8'],
        'body' => "<!DOCTYPE html><title>holds-token</title><p>$text</p><nav>$links</nav>\n",
    ];
};
