<?php

declare(strict_types=1);

namespace Stampede\Worker\Octane;

/** A worker of Octane's Swoole server gives itself the name that workers are counted by. */
final class Named
{
    private const STATE = 'Laravel\Octane\Swoole\WorkerState';
    private const STOPS = 'Laravel\Octane\Events\WorkerStopping';

    /** Once the app's providers have booted; elsewhere there is no such state. */
    public static function join(object $app): void
    {
        $app->booted(static function () use ($app): void {
            if (!$app->bound(self::STATE)) {
                return;
            }
            $state = $app->make(self::STATE);
            // Those after the workers are for tasks.
            if ($state->workerId < $state->server->setting['worker_num']) {
                self::name("worker-{$state->workerId}");
                $app->make('events')->listen(self::STOPS, static fn () => self::name('ends'));
            }
        });
    }

    /** As the kernel has it. */
    private static function name(string $name): void
    {
        @file_put_contents('/proc/self/comm', $name);
    }
}
