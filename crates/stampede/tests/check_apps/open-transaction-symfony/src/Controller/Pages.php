<?php

declare(strict_types=1);

namespace App\Controller;

use App\Shop;
use App\Site;
use Symfony\Component\HttpFoundation\Response;

/** Planted fault: `order` never ends its transaction, so the next order on the connection fails. */
final class Pages extends Site
{
    public function __construct(private Shop $shop)
    {
    }

    public function home(): Response
    {
        return $this->page($this->shop->orders() . ' orders.');
    }

    public function order(): Response
    {
        $this->shop->order();

        return $this->page('Nothing is in stock.');
    }
}
