<?php

declare(strict_types=1);

namespace App\Controller;

use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpFoundation\Response;
use Twig\Environment;

/** Article 004: one controller, one view. */
final class GreetingController
{
    public function __construct(private Environment $twig)
    {
    }

    public function __invoke(Request $request): Response
    {
        return new Response($this->twig->render('greeting.html.twig', [
            'firstName' => $request->query->get('firstName', ''),
            'lastName' => $request->query->get('lastName', ''),
        ]));
    }
}
