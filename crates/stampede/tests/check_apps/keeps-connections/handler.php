<?php

declare(strict_types=1);

// Planted fault: each /report opens a connection and keeps it, until the server has no more.

require_once __DIR__ . '/src/Reports.php';

return static function (array $server): array {
    $path = explode('?', $server['REQUEST_URI'], 2)[0];
    try {
        $text = match ($path) {
            '/' => 'Welcome.',
            '/about' => 'About us.',
            '/teas' => App\Reports::read(App\Reports::connect()),
            '/report' => App\Reports::report(),
            default => null,
        };
        $status = $text === null ? 404 : 200;
    } catch (PDOException) {
        [$status, $text] = [503, 'The database is busy.'];
    }
    $links = '<a href="/">home</a> <a href="/about">about</a> <a href="/teas">teas</a> <a href="/report">report</a>';

    return [
        'status' => $status,
        'headers' => ['Content-Type' => 'text/html; charset=UTF-8'],
        'body' => "<!DOCTYPE html><title>keeps-connections</title><p>$text</p><nav>$links</nav>\n",
    ];
};
