<?php

declare(strict_types=1);

namespace Stampede\Worker;

/** The app of a worker: booted once, asked many times. */
interface App
{
    /** @return list<string> adapters that it has beside `own` */
    public static function adapters(): array;

    /** Answers. Superglobals are those of the request. What it prints is taken off it. */
    public function handle(Request $request): Response;

    /** What is done after the answer was sent, so that the next request finds it clean. */
    public function terminate(): void;

    /** Boots anew, as for the first request. */
    public function reboot(): void;
}
