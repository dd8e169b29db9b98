<?php

declare(strict_types=1);

namespace App\Controller;

use Symfony\Component\HttpFoundation\Cookie;
use Symfony\Component\HttpFoundation\JsonResponse;
use Symfony\Component\HttpFoundation\Request;

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

    public function session(Request $request): JsonResponse
    {
        $session = $request->getSession();
        $session->set('asked', $session->get('asked', 0) + 1);

        return new JsonResponse(['asked' => $session->get('asked')]);
    }

    public function upload(Request $request): JsonResponse
    {
        $file = $request->files->get('file');

        return new JsonResponse([
            'name' => $file->getClientOriginalName(),
            'bytes' => $file->getSize(),
            'sha256' => hash_file('sha256', $file->getPathname()),
        ]);
    }
}
