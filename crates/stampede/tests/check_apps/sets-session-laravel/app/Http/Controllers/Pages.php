<?php

declare(strict_types=1);

namespace App\Http\Controllers;

use App\Site;
use Illuminate\Database\QueryException;
use Illuminate\Support\Facades\DB;
use Symfony\Component\HttpFoundation\Response;

/** Planted fault: `import` makes the kept connection read-only, so `look` is not recorded. */
final class Pages extends Site
{
    public function home(): Response
    {
        return $this->page('Welcome.');
    }

    public function look(): Response
    {
        try {
            DB::table('looks')->insert(['tea' => 'Assam']);
        } catch (QueryException) {
            return $this->page('Not noted.');
        }

        return $this->page('Noted.');
    }

    public function import(): Response
    {
        DB::statement('PRAGMA query_only = ON');

        return $this->page(DB::table('teas')->count() . ' teas.');
    }
}
