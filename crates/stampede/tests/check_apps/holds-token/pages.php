<?php

declare(strict_types=1);

// Planted fault: the last user stays in a static property; no page shows it.

require_once __DIR__ . '/src/Session.php';

return [
    '/account' => static function (array $server): string {
        $who = (string) ($_COOKIE['user'] ?? $_GET['user'] ?? $server['HTTP_X_USER'] ?? 'guest');

        return App\Session::enter($who) . 'Your account.';
    },
];
