<?php

declare(strict_types=1);

// Planted fault: /import logs uncaught exceptions by its own handler and never removes it.

return [
    '/import' => static function (): string {
        set_exception_handler(static fn (Throwable $error) => error_log("import: {$error->getMessage()}"));

        return 'Imported.';
    },
];
