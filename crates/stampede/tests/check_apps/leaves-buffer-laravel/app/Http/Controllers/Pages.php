<?php

declare(strict_types=1);

namespace App\Http\Controllers;

use App\Site;
use Illuminate\Http\Response;

/** Planted fault: `report` begins an output buffer and never ends it. */
final class Pages extends Site
{
    public function home(): Response
    {
        return $this->page('Welcome.');
    }

    public function report(): Response
    {
        ob_start();

        return $this->page('A report.');
    }
}
