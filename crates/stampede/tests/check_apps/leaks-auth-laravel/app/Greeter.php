<?php

declare(strict_types=1);

namespace App;

use Illuminate\Contracts\Auth\Guard;

/** One object for all requests. It keeps the first request's guard, which knows its user. */
final class Greeter
{
    public function __construct(private Guard $guard)
    {
    }

    public function name(): string
    {
        return (string) $this->guard->id();
    }
}
