<?php

declare(strict_types=1);

namespace Stampede\Worker;

/** Checks what must be there in an app or in its vendor directory. */
final class AppRequirements
{
    /** @throws Problem if the class or interface is not there; names the Composer package */
    public static function checkType(string $type, string $package, string $why): void
    {
        if (!class_exists($type) && !interface_exists($type)) {
            throw new Problem("$why needs `$type`: composer require $package");
        }
    }

    /** Returns what a PHP file of the app returns. */
    public static function loadFile(string $file, string $why): mixed
    {
        if (!is_file($file)) {
            throw new Problem("$why needs `$file`, which is not there");
        }

        return require $file;
    }
}
