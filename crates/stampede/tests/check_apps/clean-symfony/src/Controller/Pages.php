<?php

declare(strict_types=1);

namespace App\Controller;

use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpFoundation\Response;

/** Pages with a session, a token of a form, and what moves. */
final class Pages
{
    public function home(Request $request): Response
    {
        return self::page('Hello, ' . htmlspecialchars((string) $request->cookies->get('user', 'guest')));
    }

    public function about(): Response
    {
        return self::page('About us.');
    }

    public function basket(Request $request): Response
    {
        $session = $request->getSession();
        $session->set('looked', $session->get('looked', 0) + 1);
        $session->set('user', $request->cookies->get('user', 'guest'));

        return self::page("Looked at {$session->get('looked')} times.");
    }

    public function form(Request $request): Response
    {
        $session = $request->getSession();
        $session->set('token', $session->get('token') ?? bin2hex(random_bytes(16)));

        return self::page("<form><input name=\"token\" value=\"{$session->get('token')}\"></form>");
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

        return new Response("<!DOCTYPE html><title>clean-symfony</title><p>$text</p><nav>$links</nav>\n");
    }
}
