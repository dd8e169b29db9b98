<?php

declare(strict_types=1);

// Planted fault: /strict turns notices into exceptions and never undoes it: /list fails afterwards.

return [
    '/list' => static fn (): string => 'A list: ' . (@file_get_contents('list.txt') ?: 'empty'),
    '/strict' => static function (): string {
        set_error_handler(static fn (int $kind, string $what) => throw new ErrorException($what, 0, $kind));

        return 'Strict.';
    },
];
