<?php

declare(strict_types=1);

namespace App\Controller;

use App\Log;
use Symfony\Component\HttpFoundation\Response;

/** `search` logs. */
final class Pages
{
    public function __construct(private Log $log)
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

    public function search(): Response
    {
        $this->log->keep(str_repeat('searched ', 228));

        return self::page('Nothing found.');
    }

    private static function page(string $text): Response
    {
        $links = '<a href="/">home</a> <a href="/about">about</a> <a href="/search">search</a>';

        return new Response("<!DOCTYPE html><title>grows-memory-symfony</title><p>$text</p><nav>$links</nav>\n");
    }
}
