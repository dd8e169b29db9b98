<?php

declare(strict_types=1);

// Planted fault: /rough sets `precision` for the process, and / shows fewer digits from then on.

$share = static fn (float $price): float => $price / 7;

return [
    '/' => static fn (): string => 'The price is ' . $share(59.97),
    '/rough' => static fn (): string => is_string(ini_set('precision', '2')) ? 'About ' . $share(59.97) : '',
];
