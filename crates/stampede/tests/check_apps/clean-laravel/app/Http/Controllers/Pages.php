<?php

declare(strict_types=1);

namespace App\Http\Controllers;

use Illuminate\Http\Request;
use Illuminate\Http\Response;

/** Pages with a session, a token of a form, and what moves. */
final class Pages
{
    public function home(Request $request): Response
    {
        return self::page('Hello, ' . e((string) $request->cookie('user', 'guest')));
    }

    public function about(): Response
    {
        return self::page('About us.');
    }

    public function basket(Request $request): Response
    {
        $session = $request->session();
        $session->put('looked', $session->get('looked', 0) + 1);
        $session->put('user', $request->cookie('user', 'guest'));

        return self::page("Looked at {$session->get('looked')} times.");
    }

    public function form(): Response
    {
        return self::page('<form><input name="_token" value="' . csrf_token() . '"></form>');
    }

    public function now(): Response
    {
        return self::page('It is ' . date('Y-m-d H:i:s') . ', and the number is ' . random_int(0, 999999));
    }

    /** No page links to it: the router's list has it. */
    public function imprint(): Response
    {
        return self::page('Who we are.');
    }

    private static function page(string $text): Response
    {
        $links = '<a href="/">home</a> <a href="/about">about</a> <a href="/basket">basket</a> <a href="/form">form</a> <a href="/now">now</a>';

        return new Response("<!DOCTYPE html><title>clean-laravel</title><p>$text</p><nav>$links</nav>\n");
    }
}
