<?php

declare(strict_types=1);

namespace App\Http\Controllers;

use App\Greeter;
use App\Site;
use Symfony\Component\HttpFoundation\Response;

/** Planted fault: a singleton keeps Laravel's guard, and so the user who was signed in first. */
final class Pages extends Site
{
    public function home(): Response
    {
        return $this->page('Welcome.');
    }

    public function account(Greeter $greeter): Response
    {
        return $this->page('You are ' . e($greeter->name()));
    }
}
