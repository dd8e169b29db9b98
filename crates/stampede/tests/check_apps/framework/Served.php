<?php

declare(strict_types=1);

namespace App;

use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpFoundation\Response;

/** Serves `pages.php`, which has functions by their paths. Each function gets `$_SERVER`. */
abstract class Served extends Site
{
    /** @var array<string, \Closure(array<string, mixed>): string> */
    private static array $pages = [];

    public function home(): Response
    {
        return $this->page('Welcome.');
    }

    public static function paths(): array
    {
        self::$pages = self::$pages ?: require dirname(__DIR__) . '/pages.php';
        $paths = ['home' => '/', 'about' => '/about'];
        foreach (array_keys(self::$pages) as $path) {
            $paths[array_search($path, $paths, true) ?: ltrim($path, '/')] = $path;
        }

        return $paths;
    }

    public static function method(string $name): string
    {
        return isset(self::$pages[self::paths()[$name]]) ? 'show' : $name;
    }

    public function show(Request $request): Response
    {
        self::paths();
        $path = rtrim($request->getPathInfo(), '/') ?: '/';

        return $this->page((self::$pages[$path])($request->server->all()));
    }
}
