<?php

declare(strict_types=1);

namespace Stampede\Worker\Octane;

/** Names worker processes of Octane's Swoole server, so that stampede can count them. */
final class Named
{
    private const STATE = 'Laravel\Octane\Swoole\WorkerState';
    private const STOPS = 'Laravel\Octane\Events\WorkerStopping';

    /** Takes effect when the app's providers have booted. Other servers have no such state. */
    public static function join(object $app): void
    {
        $app->booted(static function () use ($app): void {
            if (!$app->bound(self::STATE)) {
                return;
            }
            $state = $app->make(self::STATE);
            // Workers with higher numbers are task workers.
            if ($state->workerId < $state->server->setting['worker_num']) {
                self::name("worker-{$state->workerId}");
                $app->make('events')->listen(self::STOPS, static fn () => self::name('ends'));
            }
        });
    }

    /** Sets the name by which the kernel knows this process. */
    private static function name(string $name): void
    {
        @file_put_contents('/proc/self/comm', $name);
    }
}
