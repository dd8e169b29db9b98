<?php

declare(strict_types=1);

namespace App;

/** The user who is signed in. This service is one object for all requests of a worker. */
final class Visitor
{
    public string $user = '';
}
