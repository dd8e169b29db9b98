<?php

declare(strict_types=1);

namespace App\Http\Controllers;

use Illuminate\Http\JsonResponse;
use Illuminate\Http\Request;
use Symfony\Component\HttpFoundation\Cookie;

/** Answers with everything that a request may contain. */
final class KindController
{
    public function form(Request $request): JsonResponse
    {
        $query = $request->query->all();

        return new JsonResponse(['form' => $request->request->all(), 'query' => $query]);
    }

    public function cookies(Request $request): JsonResponse
    {
        $response = new JsonResponse(['cookies' => $request->cookies->all()]);
        $response->headers->setCookie(Cookie::create('first', '1'));
        $response->headers->setCookie(Cookie::create('second', '2'));

        return $response;
    }

    public function upload(Request $request): JsonResponse
    {
        $file = $request->file('file');

        return new JsonResponse([
            'name' => $file->getClientOriginalName(),
            'bytes' => $file->getSize(),
            'sha256' => hash_file('sha256', $file->getPathname()),
        ]);
    }
}
