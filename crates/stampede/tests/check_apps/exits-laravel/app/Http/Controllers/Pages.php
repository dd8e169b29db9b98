<?php

declare(strict_types=1);

namespace App\Http\Controllers;

use App\Site;
use Symfony\Component\HttpFoundation\Response;

/** Planted fault: `thanks` ends PHP, and with it the worker. */
final class Pages extends Site
{
    public function home(): Response
    {
        return $this->page('Welcome.');
    }

    public function thanks(): Response
    {
        $this->page('Thanks.')->send();
        exit;
    }
}
