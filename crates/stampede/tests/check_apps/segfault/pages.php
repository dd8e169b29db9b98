<?php

declare(strict_types=1);

// Planted fault: /crash ends the process as a fault of memory does.

return [
    '/crash' => static fn (): string => 'Crashed: ' . posix_kill((int) getmypid(), 11),
];
