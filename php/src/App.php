<?php

declare(strict_types=1);

namespace Stampede\Worker;

/** The app of a worker: it is booted once and then handles many requests. */
interface App
{
    /** @return list<string> adapters that the app supports besides `own` */
    public static function adapters(): array;

    /**
     * Returns the answer. Superglobals are those of the request; what the app prints is captured.
     */
    public function handle(Request $request): Response;

    /** Cleans up after the answer was sent, so that the next request finds a clean app. */
    public function terminate(): void;

    /** Boots the app again, as for the first request. */
    public function reboot(): void;
}
