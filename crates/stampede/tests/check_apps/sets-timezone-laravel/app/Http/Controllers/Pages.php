<?php

declare(strict_types=1);

namespace App\Http\Controllers;

use Illuminate\Http\Response;

/** `berlin` sets what `home` shows. */
final class Pages
{
    public function home(): Response
    {
        return self::page('Founded ' . date('Y-m-d H:i T', 1700000000));
    }

    public function about(): Response
    {
        return self::page('About us.');
    }

    public function berlin(): Response
    {
        date_default_timezone_set('Europe/Berlin');

        return self::page('Guten Tag.');
    }

    private static function page(string $text): Response
    {
        $links = '<a href="/">home</a> <a href="/about">about</a> <a href="/berlin">berlin</a>';

        return new Response("<!DOCTYPE html><title>sets-timezone-laravel</title><p>$text</p><nav>$links</nav>\n");
    }
}
