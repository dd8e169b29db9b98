<?php

declare(strict_types=1);

// The framework comes from this directory's own vendor directory or from Debian's packages.
if (is_file(__DIR__ . '/vendor/autoload.php')) {
    return require_once __DIR__ . '/vendor/autoload.php';
}
require_once 'Illuminate/autoload.php';
spl_autoload_register(static function (string $class): void {
    $file = __DIR__ . '/app/' . strtr(substr($class, 4), '\\', '/') . '.php';
    if (str_starts_with($class, 'App\\') && is_file($file)) {
        require $file;
    }
});
