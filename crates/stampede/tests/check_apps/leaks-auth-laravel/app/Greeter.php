<?php

declare(strict_types=1);

namespace App;

use Illuminate\Contracts\Auth\Guard;

/** One for all requests, and it has the guard of the first one, which has its user. */
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
