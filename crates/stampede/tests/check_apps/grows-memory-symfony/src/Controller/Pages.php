<?php

declare(strict_types=1);

namespace App\Controller;

use App\Log;
use App\Site;
use Symfony\Component\HttpFoundation\Response;

/** Planted fault: each `search` leaves 2 KB in a service. */
final class Pages extends Site
{
    public function __construct(private Log $log)
    {
    }

    public function home(): Response
    {
        return $this->page('Welcome.');
    }

    public function search(): Response
    {
        $this->log->keep(str_repeat('searched ', 228));

        return $this->page('Nothing found.');
    }
}
