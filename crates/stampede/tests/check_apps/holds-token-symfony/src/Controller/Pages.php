<?php

declare(strict_types=1);

namespace App\Controller;

use App\Site;
use App\Visitor;
use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpFoundation\Response;

/** Planted fault: `account` keeps the last user in a service; no page shows it. */
final class Pages extends Site
{
    public function __construct(private Visitor $visitor)
    {
    }

    public function home(): Response
    {
        return $this->page('Welcome.');
    }

    public function account(Request $request): Response
    {
        $this->visitor->user = (string) $request->cookies->get('user', (string) $request->query->get('user', 'guest'));

        return $this->page('Your account.');
    }
}
