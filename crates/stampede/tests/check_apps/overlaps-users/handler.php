<?php

declare(strict_types=1);

// Planted fault: on /account the user is kept in a static property while the app waits for something else.
// Each request sets its own, so that one after the other all is well; where the worker has another request
// meanwhile, that one's user is greeted.

require_once __DIR__ . '/src/Visitor.php';
require_once __DIR__ . '/src/Elsewhere.php';

return static function (array $server): array {
    parse_str((string) parse_url($server['REQUEST_URI'], PHP_URL_QUERY), $asked);
    $text = match (explode('?', $server['REQUEST_URI'], 2)[0]) {
        '/' => 'Welcome.',
        '/account' => App\Visitor::greeted((string) ($asked['user'] ?? 'guest')),
        '/about' => App\Elsewhere::wait(0.05) . 'About us.',
        default => null,
    };
    $links = '<a href="/">home</a> <a href="/about">about</a> <a href="/account">account</a>';

    return [
        'status' => $text === null ? 404 : 200,
        'headers' => ['Content-Type' => 'text/html; charset=UTF-8'],
        'body' => "<!DOCTYPE html><title>overlaps-users</title><p>$text</p><nav>$links</nav>\n",
    ];
};
