<?php

declare(strict_types=1);

// Planted fault: /thanks ends PHP, and with it the worker.

return [
    '/thanks' => static function (): string {
        echo 'Thanks.';
        exit;
    },
];
