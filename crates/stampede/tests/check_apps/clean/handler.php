<?php

declare(strict_types=1);

// An app without a fault: values that change from answer to answer are meant to change.

return static function (array $server): array {
    $who = (string) ($_COOKIE['user'] ?? $_GET['user'] ?? $server['HTTP_X_USER'] ?? 'guest');
    $path = explode('?', $server['REQUEST_URI'], 2)[0];
    $text = match ($path) {
        '/' => 'Hello, ' . htmlspecialchars($who),
        '/about' => 'About us.',
        '/form' => '<form><input name="token" value="' . bin2hex(random_bytes(16)) . '"></form>',
        '/now' => 'It is ' . date('Y-m-d H:i:s') . ', and the number is ' . random_int(0, 999999),
        '/basket' => 'Looked at ' . (1 + (int) ($_COOKIE['looked'] ?? 0)) . ' times.',
        default => null,
    };
    $links = '<a href="/">home</a> <a href="/about">about</a> <a href="/form">form</a> <a href="/now">now</a> <a href="/basket">basket</a>';

    $headers = ['Content-Type' => 'text/html; charset=UTF-8', 'X-Request-Id' => bin2hex(random_bytes(8))];
    if ($path === '/basket') {
        $headers['Set-Cookie'] = 'looked=' . (1 + (int) ($_COOKIE['looked'] ?? 0)) . '; path=/; HttpOnly';
    }

    return [
        'status' => $text === null ? 404 : 200,
        'headers' => $headers,
        'body' => "<!DOCTYPE html><title>clean</title><p>$text</p><nav>$links</nav>\n",
    ];
};
