<?php

declare(strict_types=1);

namespace App\Http\Controllers;

use App\Visitor;
use Illuminate\Http\Response;

/** `account` greets who is signed in. */
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

    public function account(Visitor $visitor): Response
    {
        return self::page('You are ' . e($visitor->name()));
    }

    private static function page(string $text): Response
    {
        $links = '<a href="/">home</a> <a href="/about">about</a> <a href="/account">account</a>';

        return new Response("<!DOCTYPE html><title>leaks-user-laravel</title><p>$text</p><nav>$links</nav>\n");
    }
}
