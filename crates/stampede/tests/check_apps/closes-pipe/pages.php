<?php

declare(strict_types=1);

// Planted fault: /quiet closes the standard streams, which a worker may use to talk to its server.

return [
    '/quiet' => static function (): string {
        foreach (['STDIN', 'STDOUT'] as $stream) {
            if (defined($stream) && is_resource(constant($stream))) {
                fclose(constant($stream));
            }
        }

        return 'Quiet.';
    },
];
