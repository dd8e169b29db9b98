<?php

declare(strict_types=1);

// Planted fault: on /account a static property keeps the user while the app waits for another
// server. Each request sets its own user, so one request after another is answered correctly. If
// the worker takes another request meanwhile, /account greets that request's user.

require_once __DIR__ . '/src/Visitor.php';
require_once __DIR__ . '/src/Elsewhere.php';

return [
    '/about' => static fn (): string => App\Elsewhere::wait(0.05) . 'About us.',
    '/account' => static function (array $server): string {
        parse_str((string) parse_url($server['REQUEST_URI'], PHP_URL_QUERY), $asked);

        return App\Visitor::greeted((string) ($asked['user'] ?? 'guest'));
    },
];
