<?php

declare(strict_types=1);

namespace App\Controller;

use App\Site;
use Symfony\Component\HttpFoundation\Response;

/** Planted fault: `visits` counts up for as long as the process lives. */
final class Pages extends Site
{
    private static int $visits = 0;

    public function home(): Response
    {
        return $this->page('Welcome.');
    }

    public function visits(): Response
    {
        return $this->page('Visitor number ' . ++self::$visits);
    }
}
