<?php

declare(strict_types=1);

namespace App\Http\Controllers;

use App\Site;
use Illuminate\Http\Request;
use Symfony\Component\HttpFoundation\Response;

/** Pages without a fault: a session, a form's token, and values that change. */
final class Pages extends Site
{
    protected const UNLINKED = ['imprint'];

    public function home(Request $request): Response
    {
        return $this->page('Hello, ' . e((string) $request->cookie('user', 'guest')));
    }

    public function basket(Request $request): Response
    {
        $session = $request->session();
        $session->put('looked', $session->get('looked', 0) + 1);
        $session->put('user', $request->cookie('user', 'guest'));

        return $this->page("Looked at {$session->get('looked')} times.");
    }

    public function form(): Response
    {
        return $this->page('<form><input name="_token" value="' . csrf_token() . '"></form>');
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
