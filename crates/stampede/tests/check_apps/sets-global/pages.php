<?php

declare(strict_types=1);

// Planted fault: /dark sets a global variable, and / is dark for everyone from then on.

return [
    '/' => static fn (): string => 'The theme is ' . ($GLOBALS['theme'] ?? 'light') . '.',
    '/dark' => static function (): string {
        global $theme;
        $theme = 'dark';

        return 'Good night.';
    },
];
