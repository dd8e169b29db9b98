<?php

declare(strict_types=1);

namespace Stampede\Worker\Octane;

use Stampede\Worker\Problem;
use Stampede\Worker\Setup;

/**
 * The worker scripts of Laravel Octane, begun as its commands begin them: those lie in the app's
 * vendor directory, and what they read of the environment is in runtime.yaml.
 */
final class Start
{
    /** Script by the need that the server is. */
    private const SCRIPTS = [
        'rr' => 'roadrunner-worker',
        'frankenphp' => 'frankenphp-worker.php',
        'swoole_so' => 'swoole-server',
    ];

    /** @throws Problem the app has not what the script needs */
    public static function worker(Setup $setup): void
    {
        [$need] = array_keys(array_intersect_key(self::SCRIPTS, $setup->needs));
        $script = self::script($setup->app, self::SCRIPTS[$need]);
        if ($need === 'rr') {
            self::package($setup->app, 'spiral/roadrunner-http');
        }
        if ($need === 'swoole_so') {
            $file = "{$setup->dir}/tmp/octane-server-state.json";
            State::write($setup, $file);
            $_SERVER['argv'] = [$script, $file];
        }
        Watched::by($setup);
        // There is the app as it is, with routes for the scripts of its docroot.
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
