<?php

declare(strict_types=1);

// Planted fault: /embed sets a header by PHP's own function, which reaches nobody where PHP is no web server.

return [
    '/embed' => static function (): string {
        header('X-Robots-Tag: noindex');

        return 'A page for frames.';
    },
];
