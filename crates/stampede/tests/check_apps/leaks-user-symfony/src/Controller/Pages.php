<?php

declare(strict_types=1);

namespace App\Controller;

use App\Site;
use App\Visitor;
use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpFoundation\Response;

/** Planted fault: the service `Visitor` keeps the first user that it was asked about, so that `account`
 * greets every later user by that name. */
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
        return $this->page('You are ' . htmlspecialchars($this->visitor->named($request)));
    }
}
