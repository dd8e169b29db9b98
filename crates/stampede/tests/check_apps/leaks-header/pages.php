<?php

declare(strict_types=1);

// Planted fault: headers of earlier requests stay in a global array, and /headers shows them to others.

return [
    '/headers' => static function (array $server): string {
        $kept = ['HTTP_ACCEPT_LANGUAGE', 'HTTP_AUTHORIZATION', 'HTTP_COOKIE', 'HTTP_USER_AGENT', 'HTTP_X_USER'];
        $GLOBALS['headers'] = ($GLOBALS['headers'] ?? []) + array_intersect_key($server, array_flip($kept));

        return htmlspecialchars(implode(', ', $GLOBALS['headers']));
    },
];
