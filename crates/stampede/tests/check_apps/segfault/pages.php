<?php

declare(strict_types=1);

// Planted fault: /crash ends the process as a memory fault would.

return [
    '/crash' => static fn (): string => 'Crashed: ' . posix_kill((int) getmypid(), 11),
];
