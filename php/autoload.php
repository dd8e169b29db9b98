<?php

declare(strict_types=1);

// Loads `Stampede\Worker\A\B` from src/A/B.php; needs no Composer.
spl_autoload_register(static function (string $class): void {
    $prefix = 'Stampede\\Worker\\';
    if (str_starts_with($class, $prefix)) {
        $file = __DIR__ . '/src/' . strtr(substr($class, strlen($prefix)), '\\', '/') . '.php';
        if (is_file($file)) {
            require $file;
        }
    }
});
