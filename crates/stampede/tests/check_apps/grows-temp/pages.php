<?php

declare(strict_types=1);

// Planted fault: /export deletes its temporary file when PHP shuts down, which a worker never does.

return [
    '/export' => static function (): string {
        $file = (string) tempnam(sys_get_temp_dir(), 'export');
        file_put_contents($file, 'a;b;c');
        register_shutdown_function(static fn (): bool => unlink($file));

        return 'Exported ' . filesize($file) . ' bytes.';
    },
];
