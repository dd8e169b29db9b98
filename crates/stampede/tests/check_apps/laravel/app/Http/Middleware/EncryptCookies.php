<?php

declare(strict_types=1);

namespace App\Http\Middleware;

use Illuminate\Cookie\Middleware\EncryptCookies as Base;

/** Who is signed in is told by a plain cookie. */
final class EncryptCookies extends Base
{
    /** @var list<string> */
    protected $except = ['user'];
}
