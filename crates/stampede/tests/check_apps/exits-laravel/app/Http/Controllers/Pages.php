<?php

declare(strict_types=1);

namespace App\Http\Controllers;

use Illuminate\Http\Response;

/** `thanks` ends PHP. */
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

    public function thanks(): Response
    {
        self::page('Thanks.')->send();
        exit;
    }

    private static function page(string $text): Response
    {
        $links = '<a href="/">home</a> <a href="/about">about</a> <a href="/thanks">thanks</a>';

        return new Response("<!DOCTYPE html><title>exits-laravel</title><p>$text</p><nav>$links</nav>\n");
    }
}
