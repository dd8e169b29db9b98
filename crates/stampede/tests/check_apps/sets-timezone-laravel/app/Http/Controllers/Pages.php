<?php

declare(strict_types=1);

namespace App\Http\Controllers;

use App\Site;
use Illuminate\Http\Response;

/** Planted fault: `berlin` sets the time zone of the process, and the date on `home` is of that place from then on. */
final class Pages extends Site
{
    public function home(): Response
    {
        return $this->page('Founded ' . date('Y-m-d H:i T', 1700000000));
    }

    public function berlin(): Response
    {
        date_default_timezone_set('Europe/Berlin');

        return $this->page('Guten Tag.');
    }
}
