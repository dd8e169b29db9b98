<?php

declare(strict_types=1);

namespace App\Http\Controllers;

use App\Site;
use Illuminate\Support\Facades\App;
use Symfony\Component\HttpFoundation\Response;

/** Planted fault: `german` sets the language of the app, which later requests get too. */
final class Pages extends Site
{
    public function home(): Response
    {
        return $this->page('Written in ' . App::getLocale());
    }

    public function german(): Response
    {
        App::setLocale('de');

        return $this->page('Guten Tag.');
    }
}
