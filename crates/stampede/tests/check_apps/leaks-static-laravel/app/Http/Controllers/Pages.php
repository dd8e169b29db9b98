<?php

declare(strict_types=1);

namespace App\Http\Controllers;

use App\Site;
use App\Visitor;
use Illuminate\Http\Request;
use Symfony\Component\HttpFoundation\Response;

/** Planted fault: `account` greets everyone by the name of the first who came, which a static keeps: Octane, which
 * gives each request a container of its own, cannot help it. */
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
