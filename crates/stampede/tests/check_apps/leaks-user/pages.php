<?php

declare(strict_types=1);

// Planted fault: the first user stays in a static property, and /account greets every later user by
// that name.

require_once __DIR__ . '/src/Visitor.php';

return [
    '/account' => static function (array $server): string {
        $who = (string) ($_COOKIE['user'] ?? $_GET['user'] ?? $server['HTTP_X_USER'] ?? 'guest');

        return 'You are ' . htmlspecialchars(App\Visitor::named($who));
    },
];
