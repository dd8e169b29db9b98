<?php

declare(strict_types=1);

namespace App;

/** The user who is signed in. */
final class Visitor
{
    public function __construct(public string $user)
    {
    }
}
