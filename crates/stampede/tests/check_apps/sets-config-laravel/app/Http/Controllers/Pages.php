<?php

declare(strict_types=1);

namespace App\Http\Controllers;

use App\Site;
use Symfony\Component\HttpFoundation\Response;

/** Planted fault: `sale` changes the configuration, and `home` shows that price from then on. */
final class Pages extends Site
{
    public function home(): Response
    {
        return $this->page('The price is ' . config('app.price', 8));
    }

    public function sale(): Response
    {
        config(['app.price' => 5]);

        return $this->page('All for 5.');
    }
}
