<?php

declare(strict_types=1);

// Planted fault: all answers share one list of headers. /account adds a cookie to it for everyone.

return static function (array $server): array {
    static $headers = ['Content-Type' => 'text/html; charset=UTF-8'];
    $who = (string) ($_COOKIE['user'] ?? $_GET['user'] ?? $server['HTTP_X_USER'] ?? 'guest');
    $path = explode('?', $server['REQUEST_URI'], 2)[0];
    if ($path === '/account') {
        $headers['Set-Cookie'] = "greeted=$who";
    }
    $links = '<a href="/">home</a> <a href="/about">about</a> <a href="/account">account</a>';

    return [
        'status' => in_array($path, ['/', '/about', '/account'], true) ? 200 : 404,
        'headers' => $headers,
        'body' => "<!DOCTYPE html><title>A site</title><nav>$links</nav>\n",
    ];
};
