<?php

declare(strict_types=1);

namespace App\Http\Controllers;

use App\Site;
use Illuminate\Http\Response;

/** Planted fault: `rough` sets `precision` for the process, and the price on `home` is cut short from then on. */
final class Pages extends Site
{
    public function home(): Response
    {
        return $this->page('The price is ' . (float) config('app.price', 59.97) / 7);
    }

    public function rough(): Response
    {
        ini_set('precision', '2');

        return $this->page('About ' . (float) config('app.price', 59.97) / 7);
    }
}
