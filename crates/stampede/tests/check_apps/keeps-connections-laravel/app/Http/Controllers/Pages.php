<?php

declare(strict_types=1);

namespace App\Http\Controllers;

use App\Site;
use Illuminate\Support\Facades\DB;
use Symfony\Component\HttpFoundation\Response;

/** Planted fault: each `report` opens its own connection, like an app with a database for each customer.
 * `DB` keeps each connection under its name. */
final class Pages extends Site
{
    public function home(): Response
    {
        return $this->page('Welcome.');
    }

    public function report(): Response
    {
        $name = 'report-' . bin2hex(random_bytes(8));
        config(["database.connections.$name" => ['driver' => 'sqlite', 'database' => ':memory:']]);

        return $this->page('Sums: ' . DB::connection($name)->selectOne('SELECT 2 + 3 AS sum')->sum);
    }
}
