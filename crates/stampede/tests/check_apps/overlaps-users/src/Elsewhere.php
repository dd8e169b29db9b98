<?php

declare(strict_types=1);

namespace App;

use Revolt\EventLoop;

/** Waits for another server's answer, in the way of the runtime. */
final class Elsewhere
{
    public static function wait(float $seconds): string
    {
        // AMPHP runs each request in a fiber.
        if (class_exists(EventLoop::class) && \Fiber::getCurrent() !== null) {
            $here = EventLoop::getSuspension();
            EventLoop::delay($seconds, static fn () => $here->resume());
            $here->suspend();
        } else {
            // In Swoole, this lets other coroutines run too.
            usleep((int) ($seconds * 1e6));
        }

        return '';
    }
}
