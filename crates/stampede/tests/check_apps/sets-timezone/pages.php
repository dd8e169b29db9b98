<?php

declare(strict_types=1);

// Planted fault: /berlin sets the time zone of the process, and the date on / is of that place from then on.

return [
    '/' => static fn (): string => 'Founded ' . date('Y-m-d H:i T', 1700000000),
    '/berlin' => static fn (): string => date_default_timezone_set('Europe/Berlin') ? 'Guten Tag.' : '',
];
