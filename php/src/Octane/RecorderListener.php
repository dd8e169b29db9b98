<?php

declare(strict_types=1);

namespace Stampede\Worker\Octane;

use Stampede\Worker\Check\StateRecorder;
use Stampede\Worker\Output;
use Stampede\Worker\Request;
use Stampede\Worker\Response;
use Stampede\Worker\Setup;

/** Runs the recorder of `stampede check` in Octane's workers, by Octane's events around a request. */
final class RecorderListener
{
    private const RECEIVED = 'Laravel\Octane\Events\RequestReceived';
    private const TERMINATED = 'Laravel\Octane\Events\RequestTerminated';

    private static ?Setup $setup = null;

    /** Called before Octane boots the app. */
    public static function configure(Setup $setup): void
    {
        self::$setup = $setup;
    }

    /**
     * Takes effect when the app's providers have booted, so Octane's own clean-up listeners run
     * first.
     *
     * @param \Illuminate\Foundation\Application $app
     */
    public static function register(object $app): void
    {
        $app->booted(static function () use ($app): void {
            $output = new Output();
            $recorder = self::$setup ? StateRecorder::create(self::$setup, $app, $output, $_SERVER) : null;
            if ($recorder === null) {
                return;
            }
            $events = $app->make('events');
            $level = 0;
            $events->listen(self::RECEIVED, static function (object $event) use ($recorder, &$level): void {
                // Octane begins a buffer before this event, and ends one before the other event.
                $level = ob_get_level() - 1;
                $headers = Response::normalizeHeaders($event->request->headers->all());
                $recorder->beginRequest(new Request(headers: $headers));
                $recorder->enterDirectory();
            });
            $events->listen(self::TERMINATED, static function (object $event) use ($recorder, $output, &$level): void {
                $output->unclosed = max(0, ob_get_level() - $level);
                // Octane sends this event first, and then empties the request's own container.
                $callback = new DestructorCallback($recorder->endRequest(...));
                $event->sandbox->instance(DestructorCallback::class, $callback);
            });
        });
    }
}
