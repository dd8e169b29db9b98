<?php

declare(strict_types=1);

namespace App\Http\Controllers;

use Illuminate\Http\JsonResponse;
use Illuminate\Http\Request;

/** Answers with the JSON that the app of article 001 answered with. */
final class HomeController
{
    public function __invoke(Request $request): JsonResponse
    {
        return new JsonResponse([
            'app_env' => config('app.env'),
            'type' => 'laravel',
            'number' => random_int(0, 2147483647),
            'headers' => $request->headers->all(),
        ]);
    }
}
