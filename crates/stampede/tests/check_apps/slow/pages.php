<?php

declare(strict_types=1);

// Planted fault: /report works longer than `max_execution_time`, which ends the worker; 1 s, set there, is in
// force for what follows too.

return [
    '/report' => static function (): string {
        set_time_limit(1);
        $until = hrtime(true) + 3_000_000_000;
        for ($number = 0; hrtime(true) < $until; $number++) {
        }

        return "Counted to $number";
    },
];
