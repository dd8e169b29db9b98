<?php

declare(strict_types=1);

namespace App\Http\Controllers;

use App\Site;
use App\Visitor;
use Illuminate\Http\Request;
use Symfony\Component\HttpFoundation\Response;

/** Planted fault: `account` greets everyone by the first user's name, which a static property keeps.
 * Octane gives each request its own container, which does not help here. */
final class Pages extends Site
{
    public function home(): Response
    {
        return $this->page('Welcome.');
    }

    public function account(Request $request): Response
    {
        return $this->page('You are ' . e(Visitor::name($request)));
    }
}
