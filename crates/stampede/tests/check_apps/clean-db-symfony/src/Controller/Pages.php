<?php

declare(strict_types=1);

namespace App\Controller;

use App\Shop;
use App\Site;
use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpFoundation\Response;

/** Nothing is wrong with these: a database, a session, and what moves. */
final class Pages extends Site
{
    public function __construct(private Shop $shop)
    {
    }

    public function home(Request $request): Response
    {
        return $this->page('Hello, ' . htmlspecialchars((string) $request->cookies->get('user', 'guest')));
    }

    public function basket(Request $request): Response
    {
        $session = $request->getSession();
        $session->set('looked', $session->get('looked', 0) + 1);
        $session->set('user', $request->cookies->get('user', 'guest'));

        return $this->page("Looked at {$session->get('looked')} times.");
    }

    public function teas(): Response
    {
        return $this->page(htmlspecialchars(implode(', ', $this->shop->teas())));
    }

    public function now(): Response
    {
        return $this->page('It is ' . date('Y-m-d H:i:s') . ', and the number is ' . random_int(0, 999999));
    }
}
