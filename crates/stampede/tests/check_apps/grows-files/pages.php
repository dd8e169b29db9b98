<?php

declare(strict_types=1);

// Planted fault: each /feed leaves a file open.

return [
    '/feed' => static function (): string {
        static $open = [];
        $open[] = @fopen(__FILE__, 'r');

        return end($open) ? 'News.' : 'No news: too many open files.';
    },
];
