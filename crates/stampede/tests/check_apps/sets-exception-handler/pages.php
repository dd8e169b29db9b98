<?php

declare(strict_types=1);

// Planted fault: /import has uncaught exceptions go to a log of its own and never takes that back.

return [
    '/import' => static function (): string {
        set_exception_handler(static fn (Throwable $error) => error_log("import: {$error->getMessage()}"));

        return 'Imported.';
    },
];
