<?php

declare(strict_types=1);

// Planted fault: /private sets the umask of the process: what /share writes is not for others from then on.

return static function (array $server): array {
    $share = static function (): string {
        $file = sys_get_temp_dir() . '/shared-' . bin2hex(random_bytes(8));
        file_put_contents($file, 'for all');
        $mode = (int) fileperms($file) & 0777;
        unlink($file);

        return sprintf('Written as %o.', $mode);
    };
    $path = explode('?', $server['REQUEST_URI'], 2)[0];
    $text = match ($path) {
        '/' => 'Welcome.',
        '/about' => 'About us.',
        '/share' => $share(),
        '/private' => 'Private' . (umask(0077) < 0 ? '' : '.'),
        default => null,
    };
    $links = '<a href="/">home</a> <a href="/about">about</a> <a href="/share">share</a> <a href="/private">private</a>';

    return [
        'status' => $text === null ? 404 : 200,
        'headers' => ['Content-Type' => 'text/html; charset=UTF-8'],
        'body' => "<!DOCTYPE html><title>changes-umask</title><p>$text</p><nav>$links</nav>\n",
    ];
};
