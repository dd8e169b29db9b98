<?php

declare(strict_types=1);

// Planted fault: /basket begins PHP's own session and writes it down, as under PHP-FPM, but its id stays:
// PHP takes that before the next user's cookie, whose session is then the first one's.

return [
    '/basket' => static function (array $server): string {
        session_save_path(sys_get_temp_dir());
        session_start();
        $_SESSION['who'] ??= $server['HTTP_X_STAMPEDE_USER'] ?? 'guest';
        session_write_close();

        return 'The basket of ' . htmlspecialchars($_SESSION['who']);
    },
];
