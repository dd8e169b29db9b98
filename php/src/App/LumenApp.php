<?php

declare(strict_types=1);

namespace Stampede\Worker\App;

use Stampede\Worker\App;
use Stampede\Worker\AppRequirements;
use Stampede\Worker\Request;
use Stampede\Worker\Response;

/** Runs an app through Lumen's application, made by `bootstrap/app.php`. */
final class LumenApp implements App
{
    private const APPLICATION = 'Laravel\Lumen\Application';
    private const REQUEST = 'Laravel\Lumen\Http\Request';
    /** @var \Laravel\Lumen\Application */
    private object $app;
    private HttpFoundation $http;

    public function __construct(string $adapter, private string $directory)
    {
        $kind = 'an app of kind `lumen`';
        AppRequirements::checkType(self::APPLICATION, 'laravel/lumen-framework', $kind);
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
        $frameworkRequest = $this->http->request($request);
        $frameworkRequest = class_exists($class) ? Illuminate::request($class, $frameworkRequest) : $frameworkRequest;

        return $this->http->response($this->app->handle($frameworkRequest));
    }

    public function terminate(): void
    {
        if (method_exists($this->app, 'terminate')) {
            $this->app->terminate();
        }
        Illuminate::clearRequestState($this->app);
    }

    public function reboot(): void
    {
        $file = "{$this->directory}/bootstrap/app.php";
        /** @var \Laravel\Lumen\Application $app */
        $app = AppRequirements::loadFile($file, 'an app of kind `lumen`');
        $this->app = $app;
    }
}
