<?php

declare(strict_types=1);

namespace Stampede\Worker\App;

use Illuminate\Contracts\Http\Kernel;
use Illuminate\Http\Request as LaravelRequest;
use Stampede\Worker\App;
use Stampede\Worker\AppRequirements;
use Stampede\Worker\Request;
use Stampede\Worker\Response;

/** Runs an app through Laravel's HTTP kernel, made by `bootstrap/app.php`. */
final class LaravelApp implements App
{
    /** @var \Illuminate\Foundation\Application */
    private object $app;
    private Kernel $kernel;
    private HttpFoundation $http;
    private ?\Closure $finish = null;

    public function __construct(string $adapter, private string $directory)
    {
        AppRequirements::checkType(Kernel::class, 'laravel/framework', 'an app of kind `laravel`');
        $this->http = new HttpFoundation($adapter);
    }

    public static function adapters(): array
    {
        return ['psr7'];
    }

    public function handle(Request $request): Response
    {
        $frameworkRequest = Illuminate::request(LaravelRequest::class, $this->http->request($request));
        $frameworkResponse = $this->kernel->handle($frameworkRequest);
        $this->finish = fn () => $this->kernel->terminate($frameworkRequest, $frameworkResponse);

        return $this->http->response($frameworkResponse);
    }

    public function terminate(): void
    {
        [$finish, $this->finish] = [$this->finish, null];
        if ($finish) {
            $finish();
        }
        Illuminate::clearRequestState($this->app);
        // Laravel 8.75 and later: drop what is bound for one request only.
        if (method_exists($this->app, 'forgetScopedInstances')) {
            $this->app->forgetScopedInstances();
        }
    }

    public function reboot(): void
    {
        // PHP runs as the CLI here: without this line Laravel takes itself for a console command.
        $_ENV['APP_RUNNING_IN_CONSOLE'] = 'false';
        $file = "{$this->directory}/bootstrap/app.php";
        /** @var \Illuminate\Foundation\Application $app */
        $app = AppRequirements::loadFile($file, 'an app of kind `laravel`');
        [$this->app, $this->kernel] = [$app, $app->make(Kernel::class)];
    }
}
