<?php

declare(strict_types=1);

namespace App\Http\Controllers;

use App\Site;
use App\Visitor;
use Symfony\Component\HttpFoundation\Response;

/** Planted fault: `Visitor` is a singleton that keeps the first request, so that `account` greets every
 * later user by the first user's name. */
final class Pages extends Site
{
    public function home(): Response
    {
        return $this->page('Welcome.');
    }

    public function account(Visitor $visitor): Response
    {
        return $this->page('You are ' . e($visitor->name()));
    }
}
