<?php

declare(strict_types=1);

namespace App\Controller;

use App\Site;
use Symfony\Component\HttpFoundation\Response;

/** Planted fault: `heavy` takes more memory than there is, which nothing can catch, so that the worker ends. */
final class Pages extends Site
{
    public function home(): Response
    {
        return $this->page('Welcome.');
    }

    public function heavy(): Response
    {
        ini_set('memory_limit', (memory_get_usage() >> 20) + 8 . 'M');

        return $this->page('Heavy: ' . strlen(str_repeat('x', 64 << 20)));
    }
}
