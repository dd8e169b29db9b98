<?php

declare(strict_types=1);

// Planted fault: on /account the user is kept in a static property while the app waits for something else.
// Each request sets its own, so that one after the other all is well; where the worker has another request
// meanwhile, that one's user is greeted.

require_once __DIR__ . '/src/Visitor.php';
require_once __DIR__ . '/src/Elsewhere.php';

return [
    '/about' => static fn (): string => App\Elsewhere::wait(0.05) . 'About us.',
    '/account' => static function (array $server): string {
        parse_str((string) parse_url($server['REQUEST_URI'], PHP_URL_QUERY), $asked);

        return App\Visitor::greeted((string) ($asked['user'] ?? 'guest'));
    },
];
