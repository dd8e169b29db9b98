<?php

declare(strict_types=1);

namespace App\Http\Controllers;

use App\Site;
use Illuminate\Support\Facades\DB;
use Symfony\Component\HttpFoundation\Response;

/** Planted fault: `order` never ends its transaction. On the kept connection the order seems made. */
final class Pages extends Site
{
    public function home(): Response
    {
        return $this->page(DB::table('orders')->count() . ' orders.');
    }

    public function order(): Response
    {
        DB::beginTransaction();
        DB::table('orders')->insert(['item' => 'tea']);

        return $this->page('Nothing is in stock.');
    }
}
