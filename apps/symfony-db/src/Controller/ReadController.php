<?php

declare(strict_types=1);

namespace App\Controller;

use App\World;
use Symfony\Component\HttpFoundation\JsonResponse;
use Symfony\Component\HttpFoundation\Request;

/** Reads `?queries=` rows, one by one. */
final class ReadController
{
    public function __invoke(Request $request, World $world): JsonResponse
    {
        $queries = $request->query->getInt('queries', 1);
        if ($queries < 1 || $queries > 500) {
            return new JsonResponse(['error' => '`queries` must be from 1 to 500'], 400);
        }

        return new JsonResponse(['app' => 'symfony-db', 'rows' => $world->some($queries)]);
    }
}
