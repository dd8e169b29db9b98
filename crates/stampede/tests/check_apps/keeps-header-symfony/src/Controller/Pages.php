<?php

declare(strict_types=1);

namespace App\Controller;

use App\Site;
use Symfony\Component\HttpFoundation\Cookie;
use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpFoundation\Response;

/** Planted fault: cookies for the answer are collected in a static list, which nobody empties. */
final class Pages extends Site
{
    /** @var array<string, Cookie> */
    private static array $cookies = [];

    public function home(): Response
    {
        return $this->page('Welcome.');
    }

    public function account(Request $request): Response
    {
        $who = $request->cookies->get('user', $request->query->get('user', 'guest'));
        self::$cookies['greeted'] = Cookie::create('greeted', (string) $who);

        return $this->page('Your account.');
    }

    protected function page(string $text): Response
    {
        $response = parent::page($text);
        foreach (self::$cookies as $cookie) {
            $response->headers->setCookie($cookie);
        }

        return $response;
    }
}
