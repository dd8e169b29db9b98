<?php

declare(strict_types=1);

namespace App\Controller;

use App\Shop;
use App\Site;
use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpFoundation\Response;
use Symfony\Component\Security\Csrf\CsrfTokenManagerInterface;

/** Pages without a fault: a database, a session, a form's token, and values that change. */
final class Pages extends Site
{
    public function __construct(private Shop $shop, private CsrfTokenManagerInterface $tokens)
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

    public function form(): Response
    {
        return $this->page("<form><input name=\"_token\" value=\"{$this->tokens->getToken('order')}\"></form>");
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
