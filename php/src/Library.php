<?php

declare(strict_types=1);

namespace Stampede\Worker;

/** What a runtime brings as a Composer library, in a vendor directory of its own. */
final class Library
{
    /**
     * @param string $class that the library must have
     * @throws Problem it is not there
     */
    public static function load(Setup $setup, string $need, string $class): void
    {
        $file = $setup->needs[$need] ?? '';
        if ($file !== '' && !is_file($file)) {
            throw new Problem("`$file` is not there, which should load $need");
        }
        $file !== '' && require_once $file;
        if (!class_exists($class)) {
            throw new Problem("`$file` does not load $need: it has no `$class`");
        }
    }

    /**
     * Loads its version of PSR-7 before the app's: what is loaded first stays, and its own classes
     * fit no other. To those of an app either version is right.
     */
    public static function keepsPsr7(): void
    {
        foreach (['Message', 'Request', 'ServerRequest', 'Response', 'Stream', 'Uri', 'UploadedFile'] as $name) {
            interface_exists("Psr\\Http\\Message\\{$name}Interface");
        }
    }
}
