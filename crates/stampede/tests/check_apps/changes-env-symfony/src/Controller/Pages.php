<?php

declare(strict_types=1);

namespace App\Controller;

use App\Site;
use Symfony\Component\HttpFoundation\Response;

/** Planted fault: `staging` sets a variable of the environment, and `home` is another shop from then on. */
final class Pages extends Site
{
    public function home(): Response
    {
        return $this->page('The ' . (getenv('SHOP_STAGE') ?: 'real') . ' shop.');
    }

    public function staging(): Response
    {
        putenv('SHOP_STAGE=staging');

        return $this->page('As on the staging machine.');
    }
}
