<?php

declare(strict_types=1);

namespace App\Controller;

use App\Site;
use Symfony\Component\HttpFoundation\RedirectResponse;
use Symfony\Component\HttpFoundation\Response;

/** Planted fault: `old` prints before it sets status and headers. Per request, PHP sends its own. */
final class Pages extends Site
{
    public function home(): Response
    {
        return $this->page('Welcome.');
    }

    public function old(): Response
    {
        while (ob_get_level() > 0 && @ob_end_flush()) {
        }
        echo '<!-- moved -->';
        flush();

        return new RedirectResponse('/about', 301);
    }
}
