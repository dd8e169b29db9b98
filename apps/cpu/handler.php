<?php

declare(strict_types=1);

/**
 * Returns the CPU time in ns that this process has used. Where PHP runs in threads, it is this
 * thread's time, which the kernel updates at each of its ticks.
 */
$used = static function (): int {
    $noted = PHP_ZTS ? @file_get_contents('/proc/thread-self/schedstat') : false;
    if ($noted !== false) {
        return (int) $noted;
    }
    $usage = getrusage();

    return ($usage['ru_utime.tv_sec'] + $usage['ru_stime.tv_sec']) * 1000000000
        + ($usage['ru_utime.tv_usec'] + $usage['ru_stime.tv_usec']) * 1000;
};

/** Spends `?ms=` milliseconds of its own CPU time. So it takes longer where CPUs are short. */
return static function (array $server) use ($used): array {
    $ms = $_GET['ms'] ?? '10';
    if (!is_string($ms) || preg_match('/^[0-9]{1,5}$/', $ms) !== 1) {
        return [
            'status' => 400,
            'headers' => ['Content-Type' => 'application/json'],
            'body' => '{"error":"`ms` must be a whole number of at most 5 digits"}',
        ];
    }
    $began = $used();
    $hash = '';
    do {
        // Some tens of microseconds pass between two looks at the clock.
        for ($i = 0; $i < 100; $i++) {
            $hash = md5($hash);
        }
        $spent = $used() - $began;
    } while ($spent < (int) $ms * 1000000);

    return [
        'status' => 200,
        'headers' => ['Content-Type' => 'application/json'],
        'body' => json_encode(['app' => 'cpu', 'ms' => (int) $ms, 'spent_ms' => intdiv($spent, 1000000)], JSON_THROW_ON_ERROR),
    ];
};
