<?php

declare(strict_types=1);

namespace Stampede\Worker\Octane;

/** Names worker processes of Octane's Swoole server, so that stampede can count them. */
final class ProcessNames
{
    private const STATE = 'Laravel\Octane\Swoole\WorkerState';
    private const STOPPING = 'Laravel\Octane\Events\WorkerStopping';

    /**
     * Takes effect when the app's providers have booted. Other servers have no such state.
     *
     * @param \Illuminate\Foundation\Application $app
     */
    public static function register(object $app): void
    {
        $app->booted(static function () use ($app): void {
            if (!$app->bound(self::STATE)) {
                return;
            }
            $state = $app->make(self::STATE);
            /** @var array{worker_num: int} $settings */
            $settings = $state->server->setting;
            // Workers with higher numbers are task workers.
            if ($state->workerId < $settings['worker_num']) {
                self::setName("worker-{$state->workerId}");
                $app->make('events')->listen(self::STOPPING, static fn () => self::setName('ends'));
            }
        });
    }

    /** Sets the name by which the kernel knows this process. */
    private static function setName(string $name): void
    {
        @file_put_contents('/proc/self/comm', $name);
    }
}
