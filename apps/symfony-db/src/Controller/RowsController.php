<?php

declare(strict_types=1);

namespace App\Controller;

use App\World;
use Symfony\Component\HttpFoundation\Response;

/** Renders twenty rows as a page. */
final class RowsController
{
    public function __invoke(World $world): Response
    {
        $lines = '';
        foreach ($world->first(20) as $row) {
            $lines .= sprintf("<tr><td>%d</td><td>%d</td></tr>\n", $row['id'], $row['number']);
        }

        return new Response("<!doctype html>\n<title>symfony-db</title>\n<table>\n$lines</table>\n");
    }
}
