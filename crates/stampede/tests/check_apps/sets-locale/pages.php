<?php

declare(strict_types=1);

// Planted fault: /german sets a locale for the process, which / uses from then on.

return [
    '/' => static fn (): string => 'Dates are written as in ' . setlocale(LC_TIME, '0'),
    '/german' => static fn (): string => 'Hallo, ' . setlocale(LC_TIME, ['de_DE.UTF-8', 'de_DE', 'C.UTF-8', 'POSIX']),
];
