<?php

declare(strict_types=1);

namespace App\Http\Controllers;

use Illuminate\Http\Response;
use Illuminate\Support\Facades\Event;

/** `search` listens. */
final class Pages
{
    public function home(): Response
    {
        return self::page('Welcome.');
    }

    public function about(): Response
    {
        return self::page('About us.');
    }

    public function search(): Response
    {
        $words = str_repeat('searched ', 228);
        Event::listen('found', static fn (): int => strlen($words));

        return self::page('Nothing found.');
    }

    private static function page(string $text): Response
    {
        $links = '<a href="/">home</a> <a href="/about">about</a> <a href="/search">search</a>';

        return new Response("<!DOCTYPE html><title>grows-memory-laravel</title><p>$text</p><nav>$links</nav>\n");
    }
}
