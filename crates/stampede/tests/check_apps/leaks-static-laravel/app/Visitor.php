<?php

declare(strict_types=1);

namespace App;

use Illuminate\Http\Request;

/** The user who is signed in, looked up only once. */
final class Visitor
{
    private static ?string $name = null;

    public static function name(Request $request): string
    {
        return self::$name ??= (string) ($request->cookie('user') ?? $request->query('user') ?? 'guest');
    }
}
