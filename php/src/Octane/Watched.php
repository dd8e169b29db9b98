<?php

declare(strict_types=1);

namespace Stampede\Worker\Octane;

use Stampede\Worker\Check\Watch;
use Stampede\Worker\Output;
use Stampede\Worker\Request;
use Stampede\Worker\Response;
use Stampede\Worker\Setup;

/** Runs the watch of `stampede check` in Octane's workers, by Octane's events around a request. */
final class Watched
{
    private const COMES = 'Laravel\Octane\Events\RequestReceived';
    private const GONE = 'Laravel\Octane\Events\RequestTerminated';

    private static ?Setup $setup = null;

    /** Called before Octane boots the app. */
    public static function by(Setup $setup): void
    {
        self::$setup = $setup;
    }

    /**
     * Takes effect when the app's providers have booted, so Octane's own clean-up listeners run
     * first.
     */
    public static function join(object $app): void
    {
        $app->booted(static function () use ($app): void {
            $output = new Output();
            $watch = self::$setup ? Watch::over(self::$setup, $app, $output, $_SERVER) : null;
            if ($watch === null) {
                return;
            }
            $events = $app->make('events');
            $outside = 0;
            $events->listen(self::COMES, static function (object $event) use ($watch, &$outside): void {
                // Octane begins a buffer before this event, and ends one before the other event.
                $outside = ob_get_level() - 1;
                $headers = Response::listed($event->request->headers->all());
                $watch->begin(new Request(headers: $headers));
                $watch->entered();
            });
            $events->listen(self::GONE, static function (object $event) use ($watch, $output, &$outside): void {
                $output->left = max(0, ob_get_level() - $outside);
                // Octane sends this event first, and then empties the request's own container.
                $event->sandbox->instance(Emptied::class, new Emptied($watch->end(...)));
            });
        });
    }
}
