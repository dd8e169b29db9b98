<?php

declare(strict_types=1);

namespace App;

use Symfony\Component\HttpFoundation\Response;

/** A controller each of whose public methods is a page, with links to the other pages. */
abstract class Site
{
    /** Pages that only the router's list has. */
    protected const UNLINKED = [];

    public function about(): Response
    {
        return $this->page('About us.');
    }

    /** Returns the method that serves the page of this name. */
    public static function method(string $name): string
    {
        return $name;
    }

    /** @return array<string, string> name => path */
    public static function paths(): array
    {
        $paths = [];
        foreach ((new \ReflectionClass(static::class))->getMethods(\ReflectionMethod::IS_PUBLIC) as $method) {
            $name = $method->getName();
            if (!$method->isStatic() && !$method->isConstructor()) {
                $paths[$name] = $name === 'home' ? '/' : "/$name";
            }
        }

        return $paths;
    }

    protected function page(string $text): Response
    {
        $links = '';
        foreach (array_diff_key(static::paths(), array_flip(static::UNLINKED)) as $name => $path) {
            $links .= "<a href=\"$path\">$name</a> ";
        }

        return new Response("<!DOCTYPE html><title>A site</title><p>$text</p><nav>$links</nav>\n");
    }
}
