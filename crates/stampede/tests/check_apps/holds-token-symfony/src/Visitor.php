<?php

declare(strict_types=1);

namespace App;

/** Who is signed in: a service, of which a worker has one for all requests. */
final class Visitor
{
    public string $user = '';
}
