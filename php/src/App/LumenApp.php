<?php

declare(strict_types=1);

namespace Stampede\Worker\App;

use Stampede\Worker\App;
use Stampede\Worker\Needs;
use Stampede\Worker\Request;
use Stampede\Worker\Response;

/** Runs an app through Lumen's application, made by `bootstrap/app.php`. */
final class LumenApp implements App
{
    private const APPLICATION = 'Laravel\Lumen\Application';
    private const REQUEST = 'Laravel\Lumen\Http\Request';
    private object $app;
    private HttpFoundation $http;

    public function __construct(string $adapter, private string $directory)
    {
        $kind = 'an app of kind `lumen`';
        Needs::type(self::APPLICATION, 'laravel/lumen-framework', $kind);
        $this->http = new HttpFoundation($adapter);
    }

    public static function adapters(): array
    {
        return ['psr7'];
    }

    /** Lumen's `handle` runs the terminating middleware too. */
    public function handle(Request $request): Response
    {
        $class = self::REQUEST;
        $asked = $this->http->request($request);
        $asked = class_exists($class) ? Illuminate::request($class, $asked) : $asked;

        return $this->http->response($this->app->handle($asked));
    }

    public function terminate(): void
    {
        if (method_exists($this->app, 'terminate')) {
            $this->app->terminate();
        }
        Illuminate::forget($this->app);
    }

    public function reboot(): void
    {
        $file = "{$this->directory}/bootstrap/app.php";
        $this->app = Needs::file($file, 'an app of kind `lumen`');
    }
}
