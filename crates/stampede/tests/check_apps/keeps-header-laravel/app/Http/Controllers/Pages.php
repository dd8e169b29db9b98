<?php

declare(strict_types=1);

namespace App\Http\Controllers;

use App\Site;
use Illuminate\Http\Request;
use Symfony\Component\HttpFoundation\Response;

/** Planted fault: headers for the answer are collected in a static list, which nobody empties. */
final class Pages extends Site
{
    /** @var array<string, string> */
    private static array $headers = [];

    public function home(): Response
    {
        return $this->page('Welcome.');
    }

    public function account(Request $request): Response
    {
        self::$headers['X-Greeted'] = $request->cookie('user') ?? $request->query('user') ?? 'guest';

        return $this->page('Your account.');
    }

    protected function page(string $text): Response
    {
        $response = parent::page($text);
        $response->headers->add(self::$headers);

        return $response;
    }
}
