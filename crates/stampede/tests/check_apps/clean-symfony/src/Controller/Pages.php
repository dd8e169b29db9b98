<?php

declare(strict_types=1);

namespace App\Controller;

use App\Site;
use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpFoundation\Response;

/** Pages without a fault: a session, a form's token, and values that change. */
final class Pages extends Site
{
    protected const UNLINKED = ['imprint'];

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

    public function form(Request $request): Response
    {
        $session = $request->getSession();
        $session->set('token', $session->get('token') ?? bin2hex(random_bytes(16)));

        return $this->page("<form><input name=\"token\" value=\"{$session->get('token')}\"></form>");
    }

    public function now(): Response
    {
        return $this->page('It is ' . date('Y-m-d H:i:s') . ', and the number is ' . random_int(0, 999999));
    }

    public function imprint(): Response
    {
        return $this->page('Who we are.');
    }
}
