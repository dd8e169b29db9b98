<?php

declare(strict_types=1);

// The framework is that of Debian's packages.
require_once 'Symfony/Bundle/FrameworkBundle/autoload.php';
// Another package, which one app needs.
@include_once 'Symfony/Component/Security/Csrf/autoload.php';
spl_autoload_register(static function (string $class): void {
    $file = __DIR__ . '/src/' . strtr(substr($class, 4), '\\', '/') . '.php';
    if (str_starts_with($class, 'App\\') && is_file($file)) {
        require $file;
    }
});
