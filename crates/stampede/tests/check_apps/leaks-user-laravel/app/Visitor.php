<?php

declare(strict_types=1);

namespace App;

use Illuminate\Http\Request;

/** The user who is signed in. */
final class Visitor
{
    public function __construct(private Request $request)
    {
    }

    public function name(): string
    {
        $asked = $this->request;

        return (string) ($asked->cookie('user') ?? $asked->query('user') ?? $asked->header('X-User') ?? 'guest');
    }
}
