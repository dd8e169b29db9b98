<?php

declare(strict_types=1);

// Planted fault: /embed calls `header()`, which has no effect where PHP is not a web server.

return [
    '/embed' => static function (): string {
        header('X-Robots-Tag: noindex');

        return 'A page for frames.';
    },
];
