<?php

declare(strict_types=1);

namespace App\Controller;

use App\Visitor;
use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpFoundation\Response;

/** `account` greets who is signed in. */
final class Pages
{
    public function __construct(private Visitor $visitor)
    {
    }

    public function home(): Response
    {
        return self::page('Welcome.');
    }

    public function about(): Response
    {
        return self::page('About us.');
    }

    public function account(Request $request): Response
    {
        return self::page('You are ' . htmlspecialchars($this->visitor->named($request)));
    }

    private static function page(string $text): Response
    {
        $links = '<a href="/">home</a> <a href="/about">about</a> <a href="/account">account</a>';

        return new Response("<!DOCTYPE html><title>leaks-user-symfony</title><p>$text</p><nav>$links</nav>\n");
    }
}
