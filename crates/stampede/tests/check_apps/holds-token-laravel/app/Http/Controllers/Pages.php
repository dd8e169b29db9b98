<?php

declare(strict_types=1);

namespace App\Http\Controllers;

use App\Site;
use App\Visitor;
use Illuminate\Http\Request;
use Symfony\Component\HttpFoundation\Response;

/** Planted fault: `account` leaves the last user in the container; no page shows it. */
final class Pages extends Site
{
    public function home(): Response
    {
        return $this->page('Welcome.');
    }

    public function account(Request $request): Response
    {
        $visitor = new Visitor($request->cookie('user') ?? $request->query('user') ?? 'guest');
        app()->instance(Visitor::class, $visitor);

        return $this->page('Your account.');
    }
}
