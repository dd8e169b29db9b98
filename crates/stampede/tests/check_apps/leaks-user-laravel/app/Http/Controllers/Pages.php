<?php

declare(strict_types=1);

namespace App\Http\Controllers;

use App\Site;
use App\Visitor;
use Symfony\Component\HttpFoundation\Response;

/** Planted fault: `Visitor` is a singleton that holds the first request, and every later user is greeted by its name
 * on `account`. */
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
