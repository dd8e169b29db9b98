<?php

declare(strict_types=1);

namespace Stampede\Worker;

use Stampede\Worker\App\CallableApp;
use Stampede\Worker\App\LaravelApp;
use Stampede\Worker\App\LumenApp;
use Stampede\Worker\App\Psr15App;
use Stampede\Worker\App\SymfonyApp;

/** Boots an app, given its directory and kind. */
final class AppFactory
{
    public const ADAPTERS = ['own', 'psr7', 'symfony-runtime'];

    /**
     * @param string $directory the app's directory, with `vendor/` in it
     * @param string $kind the app's kind, as in `app.yaml`
     * @throws Problem if the app cannot be booted with what is there
     */
    public static function boot(string $directory, string $kind, string $adapter, string $front): App
    {
        if (!in_array($adapter, self::ADAPTERS, true)) {
            $known = implode(', ', self::ADAPTERS);
            throw new Problem("`$adapter` is no adapter; there are $known");
        }
        self::loadClasses($directory);
        $app = match ($kind) {
            'callable' => new CallableApp("$directory/handler.php"),
            'psr15' => new Psr15App("$directory/handler.php"),
            'symfony' => new SymfonyApp($adapter, $directory, $front),
            'laravel' => new LaravelApp($adapter, $directory),
            'lumen' => new LumenApp($adapter, $directory),
            default => throw new Problem("workers run no app of kind `$kind`"),
        };
        if ($adapter !== 'own' && !in_array($adapter, $app::adapters(), true)) {
            throw new Problem("an app of kind `$kind` has no adapter `$adapter`");
        }
        $app->reboot();

        return $app;
    }

    /**
     * Loads the app's classes from its vendor directory or, without one, from its own
     * `autoload.php`. They come before those of a runtime's library, which may have another version
     * of the same package.
     */
    public static function loadClasses(string $directory): void
    {
        $files = ["$directory/vendor/autoload.php", "$directory/autoload.php"];
        $file = current(array_filter($files, 'is_file'));
        if ($file === false) {
            return;
        }
        $others = spl_autoload_functions();
        require_once $file;
        foreach (array_reverse(spl_autoload_functions()) as $loader) {
            if (!in_array($loader, $others, true)) {
                spl_autoload_unregister($loader);
                spl_autoload_register($loader, true, true);
            }
        }
    }
}
