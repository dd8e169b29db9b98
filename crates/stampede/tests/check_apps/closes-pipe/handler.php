<?php

declare(strict_types=1);

// Planted fault: /quiet closes the standard streams, by which a worker may talk to its server.

return static function (array $server): array {
    $close = static function (): string {
        foreach (['STDIN', 'STDOUT'] as $stream) {
            if (defined($stream) && is_resource(constant($stream))) {
                fclose(constant($stream));
            }
        }

        return '';
    };
    $path = explode('?', $server['REQUEST_URI'], 2)[0];
    $text = match ($path) {
        '/' => 'Welcome.',
        '/about' => 'About us.',
        '/quiet' => $close() . 'Quiet.',
        default => null,
    };
    $links = '<a href="/">home</a> <a href="/about">about</a> <a href="/quiet">quiet</a>';

    return [
        'status' => $text === null ? 404 : 200,
        'headers' => ['Content-Type' => 'text/html; charset=UTF-8'],
        'body' => "<!DOCTYPE html><title>closes-pipe</title><p>$text</p><nav>$links</nav>\n",
    ];
};
