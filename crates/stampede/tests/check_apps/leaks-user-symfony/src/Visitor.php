<?php

declare(strict_types=1);

namespace App;

use Symfony\Component\HttpFoundation\Request;

/** The user who is signed in. This service is one object for all requests of a worker. */
final class Visitor
{
    private ?string $user = null;

    public function named(Request $request): string
    {
        return $this->user ??= (string) $request->cookies->get(
            'user',
            (string) $request->query->get('user', $request->headers->get('X-User', 'guest')),
        );
    }
}
