<?php

declare(strict_types=1);

// Planted fault: /basket begins and writes PHP's own session, as under PHP-FPM, but the id stays. PHP
// prefers it to the next user's cookie, so the next user gets the first user's session.

return [
    '/basket' => static function (array $server): string {
        session_save_path(sys_get_temp_dir());
        session_start();
        $_SESSION['who'] ??= $server['HTTP_X_STAMPEDE_USER'] ?? 'guest';
        session_write_close();

        return 'The basket of ' . htmlspecialchars($_SESSION['who']);
    },
];
