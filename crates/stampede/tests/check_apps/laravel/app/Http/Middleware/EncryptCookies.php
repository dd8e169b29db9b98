<?php

declare(strict_types=1);

namespace App\Http\Middleware;

use Illuminate\Cookie\Middleware\EncryptCookies as Base;

/** Leaves the cookie `user` unencrypted: it names who is signed in. */
final class EncryptCookies extends Base
{
    /** @var list<string> */
    protected $except = ['user'];
}
