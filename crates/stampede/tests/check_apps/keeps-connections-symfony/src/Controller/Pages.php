<?php

declare(strict_types=1);

namespace App\Controller;

use App\Reports;
use App\Site;
use Symfony\Component\HttpFoundation\Response;

/** Planted fault: each `report` opens its own connection, which a service keeps. */
final class Pages extends Site
{
    public function __construct(private Reports $reports)
    {
    }

    public function home(): Response
    {
        return $this->page('Welcome.');
    }

    public function report(): Response
    {
        return $this->page($this->reports->report());
    }
}
