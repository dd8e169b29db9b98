<?php

declare(strict_types=1);

namespace Stampede\Worker\Octane;

use Stampede\Worker\Problem;
use Stampede\Worker\Setup;

/**
 * Runs the worker scripts of Laravel Octane, as Octane's commands run them. The scripts are in the
 * app's vendor directory; runtime.yaml sets the environment variables that they read.
 */
final class Start
{
    /** The script for each server, keyed by the need that the server is. */
    private const SCRIPTS = [
        'rr' => 'roadrunner-worker',
        'frankenphp' => 'frankenphp-worker.php',
        'swoole_so' => 'swoole-server',
    ];

    /** @throws Problem if the app lacks what the script needs */
    public static function worker(Setup $setup): void
    {
        $need = array_key_first(array_intersect_key(self::SCRIPTS, $setup->needs))
            ?? throw new Problem('Octane needs one of ' . implode(', ', array_keys(self::SCRIPTS)));
        $script = self::script($setup->app, self::SCRIPTS[$need]);
        if ($need === 'rr') {
            self::package($setup->app, 'spiral/roadrunner-http');
        }
        if ($need === 'swoole_so') {
            $file = "{$setup->dir}/tmp/octane-server-state.json";
            ServerStateFile::write($setup, $file);
            $_SERVER['argv'] = [$script, $file];
        }
        RecorderListener::configure($setup);
        // This directory stands for the app: it adds routes for the scripts of the app's docroot.
        $_SERVER['APP_BASE_PATH'] = __DIR__ . '/base';
        (static fn (string $__script) => require $__script)($script);
    }

    private static function script(string $app, string $name): string
    {
        self::package($app, 'laravel/octane');
        $script = "$app/vendor/laravel/octane/bin/$name";
        if (!is_file($script)) {
            throw new Problem("the app's laravel/octane is too old to have `bin/$name`");
        }

        return $script;
    }

    private static function package(string $app, string $name): void
    {
        if (!is_dir("$app/vendor/$name")) {
            throw new Problem("the app has no vendor/$name: composer require $name");
        }
    }
}
