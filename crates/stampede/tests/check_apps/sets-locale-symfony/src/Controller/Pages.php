<?php

declare(strict_types=1);

namespace App\Controller;

use App\Site;
use Symfony\Component\HttpFoundation\Response;

/** Planted fault: `german` sets a locale for the process, and `home` is written in it from then on. */
final class Pages extends Site
{
    public function home(): Response
    {
        return $this->page('Dates are written as in ' . setlocale(LC_TIME, '0'));
    }

    public function german(): Response
    {
        setlocale(LC_TIME, ['de_DE.UTF-8', 'de_DE', 'C.UTF-8', 'POSIX']);

        return $this->page('Guten Tag.');
    }
}
