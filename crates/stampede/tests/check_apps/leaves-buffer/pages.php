<?php

declare(strict_types=1);

// Planted fault: /report begins an output buffer and never ends it.

return [
    '/report' => static fn (): string => ob_start() ? 'A report.' : '',
];
