<?php

declare(strict_types=1);

namespace App\Http\Controllers;

use App\Site;
use Illuminate\Support\Facades\Event;
use Symfony\Component\HttpFoundation\Response;

/** Planted fault: each `search` adds a listener, and 2 KB with it. */
final class Pages extends Site
{
    public function home(): Response
    {
        return $this->page('Welcome.');
    }

    public function search(): Response
    {
        $words = str_repeat('searched ', 228);
        Event::listen('found', static fn (): int => strlen($words));

        return $this->page('Nothing found.');
    }
}
