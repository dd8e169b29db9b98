<?php

declare(strict_types=1);

namespace Stampede\Worker;

/** Loads a runtime's own Composer library from the runtime's vendor directory. */
final class Library
{
    /**
     * @param string $class a class that the library must have
     * @throws Problem if the library is not there
     */
    public static function load(Setup $setup, string $need, string $class): void
    {
        $file = $setup->needs[$need] ?? '';
        if ($file !== '' && !is_file($file)) {
            throw new Problem("`$file` is not there, which should load $need");
        }
        if ($file !== '') {
            require_once $file;
        }
        if (!class_exists($class)) {
            throw new Problem("`$file` does not load $need: it has no `$class`");
        }
    }

    /**
     * Loads the library's version of PSR-7 before the app's: the first one loaded stays. The
     * library's classes fit no other version; the classes of an app fit either.
     */
    public static function loadPsr7(): void
    {
        foreach (['Message', 'Request', 'ServerRequest', 'Response', 'Stream', 'Uri', 'UploadedFile'] as $name) {
            interface_exists("Psr\\Http\\Message\\{$name}Interface");
        }
    }
}
