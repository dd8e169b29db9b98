<?php

declare(strict_types=1);

// Planted fault: /report works longer than `max_execution_time`, which ends the worker; 1 s, set there, is in
// force for what follows too. PHP counts the time of its CPUs or, where it has timers of threads, that of the clock.

return [
    '/report' => static function (): string {
        set_time_limit(1);
        $spent = static function (): int {
            $used = getrusage();
            $seconds = $used['ru_utime.tv_sec'] + $used['ru_stime.tv_sec'];

            return 1_000_000 * $seconds + $used['ru_utime.tv_usec'] + $used['ru_stime.tv_usec'];
        };
        [$enough, $until] = [$spent() + 2_000_000, hrtime(true) + 2_000_000_000];
        for ($number = 0; $spent() < $enough || hrtime(true) < $until; $number++) {
        }

        return "Counted to $number";
    },
];
