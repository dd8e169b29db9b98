<?php

declare(strict_types=1);

namespace App\Http\Controllers;

use App\Site;
use Illuminate\Http\Request;
use Illuminate\Http\Response;
use Illuminate\Support\Facades\View;

/** Planted fault: what `account` shares with all views stays, and with it who came last; no page shows it. */
final class Pages extends Site
{
    public function home(): Response
    {
        return $this->page('Welcome.');
    }

    public function account(Request $request): Response
    {
        View::share('user', $request->cookie('user') ?? $request->query('user') ?? 'guest');

        return $this->page('Your account.');
    }
}
