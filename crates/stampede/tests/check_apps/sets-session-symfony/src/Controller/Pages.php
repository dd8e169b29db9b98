<?php

declare(strict_types=1);

namespace App\Controller;

use App\Shop;
use App\Site;
use Symfony\Component\HttpFoundation\Response;

/** Planted fault: `import` makes SQLite check foreign keys, and leaves the kept connection like this.
 * Then `orders` refuses orders of unknown customers. */
final class Pages extends Site
{
    public function __construct(private Shop $shop)
    {
    }

    public function home(): Response
    {
        return $this->page('Welcome.');
    }

    public function orders(): Response
    {
        return $this->page($this->shop->order());
    }

    public function import(): Response
    {
        return $this->page($this->shop->import());
    }
}
