<?php

declare(strict_types=1);

namespace App;

use Revolt\EventLoop;

/** Another server's answer, waited for as the runtime has it. */
final class Elsewhere
{
    public static function wait(float $seconds): string
    {
        // AMPHP has each request in a fiber.
        if (class_exists(EventLoop::class) && \Fiber::getCurrent() !== null) {
            $here = EventLoop::getSuspension();
            EventLoop::delay($seconds, static fn () => $here->resume());
            $here->suspend();
        } else {
            // Swoole's coroutines give way here too.
            usleep((int) ($seconds * 1e6));
        }

        return '';
    }
}
