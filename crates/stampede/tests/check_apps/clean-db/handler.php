<?php

declare(strict_types=1);

// An app without a fault. It keeps its connection, as a worker may, to a database of one file,
// which also has each visitor's session with the token of its form. Some of its text is random.

require_once __DIR__ . '/src/Shop.php';

return static function (array $server): array {
    $path = explode('?', $server['REQUEST_URI'], 2)[0];
    $headers = ['Content-Type' => 'text/html; charset=UTF-8'];
    $session = [];
    if (in_array($path, ['/basket', '/form'], true)) {
        $session = App\Shop::session((string) ($_COOKIE['sid'] ?? ''));
        $headers['Set-Cookie'] = "sid={$session['id']}; path=/; HttpOnly";
    }
    $text = match ($path) {
        '/' => 'Hello, ' . htmlspecialchars((string) ($_COOKIE['user'] ?? 'guest')),
        '/basket' => "Looked at {$session['looked']} times.",
        '/form' => "<form><input name=\"token\" value=\"{$session['token']}\"></form>",
        '/now' => 'It is ' . date('Y-m-d H:i:s') . ', and the number is ' . random_int(0, 999999),
        '/teas' => htmlspecialchars(implode(', ', App\Shop::teas())),
        '/sold' => App\Shop::sold() ? 'Sold, and taken back.' : '',
        default => null,
    };
    $links = '';
    foreach (['', 'basket', 'form', 'now', 'teas', 'sold'] as $name) {
        $links .= "<a href=\"/$name\">" . ($name ?: 'home') . '</a> ';
    }

    return [
        'status' => $text === null ? 404 : 200,
        'headers' => $headers,
        'body' => "<!DOCTYPE html><title>clean-db</title><p>$text</p><nav>$links</nav>\n",
    ];
};
