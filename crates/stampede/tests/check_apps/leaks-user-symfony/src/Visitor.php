<?php

declare(strict_types=1);

namespace App;

use Symfony\Component\HttpFoundation\Request;

/** Who is signed in: a service, of which a worker has one for all requests. */
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
