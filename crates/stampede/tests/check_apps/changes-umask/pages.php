<?php

declare(strict_types=1);

// Planted fault: /private sets the process's umask. Later files of /share are closed to others.

return [
    '/share' => static function (): string {
        $file = sys_get_temp_dir() . '/shared-' . bin2hex(random_bytes(8));
        file_put_contents($file, 'for all');
        $mode = (int) fileperms($file) & 0777;
        unlink($file);

        return sprintf('Written as %o.', $mode);
    },
    '/private' => static fn (): string => 'Private' . (umask(0077) < 0 ? '' : '.'),
];
