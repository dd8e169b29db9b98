<?php

declare(strict_types=1);

// Planted fault: /export deletes its temporary file when PHP shuts down, which in a worker is never.

return static function (array $server): array {
    $export = static function (): string {
        $file = (string) tempnam(sys_get_temp_dir(), 'export');
        file_put_contents($file, 'a;b;c');
        register_shutdown_function(static fn (): bool => unlink($file));

        return 'Exported ' . filesize($file) . ' bytes.';
    };
    $path = explode('?', $server['REQUEST_URI'], 2)[0];
    $text = match ($path) {
        '/' => 'Welcome.',
        '/about' => 'About us.',
        '/export' => $export(),
        default => null,
    };
    $links = '<a href="/">home</a> <a href="/about">about</a> <a href="/export">export</a>';

    return [
        'status' => $text === null ? 404 : 200,
        'headers' => ['Content-Type' => 'text/html; charset=UTF-8'],
        'body' => "<!DOCTYPE html><title>grows-temp</title><p>$text</p><nav>$links</nav>\n",
    ];
};
