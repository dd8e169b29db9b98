<?php

declare(strict_types=1);

// Planted faults: /broken calls a function that does not exist. /heavy takes more memory than there
// is; nothing can catch this error, so the worker ends.

return [
    '/broken' => static fn (): string => nothing_of_that_name(),
    '/heavy' => static function (): string {
        ini_set('memory_limit', (memory_get_usage() >> 20) + 8 . 'M');

        return 'Heavy: ' . strlen(str_repeat('x', 64 << 20));
    },
];
