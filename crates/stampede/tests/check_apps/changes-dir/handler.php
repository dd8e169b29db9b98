<?php

declare(strict_types=1);

// Planted fault: /files works in another folder and does not go back.

return static function (array $server): array {
    $path = explode('?', $server['REQUEST_URI'], 2)[0];
    $text = match ($path) {
        '/' => 'Welcome.',
        '/about' => 'About us.',
        '/files' => chdir(sys_get_temp_dir()) ? 'Files are kept elsewhere.' : '',
        default => null,
    };
    $links = '<a href="/">home</a> <a href="/about">about</a> <a href="/files">files</a>';

    return [
        'status' => $text === null ? 404 : 200,
        'headers' => ['Content-Type' => 'text/html; charset=UTF-8'],
        'body' => "<!DOCTYPE html><title>changes-dir</title><p>$text</p><nav>$links</nav>\n",
    ];
};
