<?php

declare(strict_types=1);

// Planted fault: the last upload stays in a static variable, and /files shows its name to everyone.

return static function (array $server): array {
    static $kept = [];
    $file = $_FILES['file'] ?? [];
    $kept = $file ?: $kept;
    $path = explode('?', $server['REQUEST_URI'], 2)[0];
    $text = match ($path) {
        '/' => '<form method="post" action="/upload" enctype="multipart/form-data"><input type="file" name="file"></form>',
        '/about' => 'About us.',
        '/upload' => 'Taken: ' . htmlspecialchars($file['name'] ?? 'nothing'),
        '/files' => 'The last file: ' . htmlspecialchars($kept['name'] ?? 'none'),
        default => null,
    };
    $links = '<a href="/">home</a> <a href="/about">about</a> <a href="/files">files</a>';

    return [
        'status' => $text === null ? 404 : 200,
        'headers' => ['Content-Type' => 'text/html; charset=UTF-8'],
        'body' => "<!DOCTYPE html><title>upload-kept</title><p>$text</p><nav>$links</nav>\n",
    ];
};
