<?php

declare(strict_types=1);

namespace App\Controller;

use App\Site;
use Symfony\Component\HttpFoundation\Response;

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
