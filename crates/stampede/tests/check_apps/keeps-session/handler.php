<?php

declare(strict_types=1);

// Planted fault: /basket begins PHP's own session and writes it down, as under PHP-FPM, but its id stays:
// PHP takes that before the next user's cookie, whose session is then the first one's.

return static function (array $server): array {
    $path = explode('?', $server['REQUEST_URI'], 2)[0];
    $text = match ($path) {
        '/' => 'Welcome.',
        '/basket' => (static function () use ($server): string {
            session_save_path(sys_get_temp_dir());
            session_start(['use_cookies' => 0]);
            $_SESSION['who'] ??= $server['HTTP_X_STAMPEDE_USER'] ?? 'guest';
            session_write_close();

            return 'The basket of ' . htmlspecialchars($_SESSION['who']);
        })(),
        default => null,
    };
    $links = '<a href="/">home</a> <a href="/basket">basket</a>';

    return [
        'status' => $text === null ? 404 : 200,
        'headers' => ['Content-Type' => 'text/html; charset=UTF-8'],
        'body' => "<!DOCTYPE html><title>keeps-session</title><p>$text</p><nav>$links</nav>\n",
    ];
};
