<?php

declare(strict_types=1);

namespace Stampede\Worker\Octane;

use Stampede\Worker\App;
use Stampede\Worker\Problem;
use Stampede\Worker\Request;
use Stampede\Worker\Response;
use Stampede\Worker\Site;

/**
 * Serves the scripts beside the front controller through Octane's own routes. A web server would
 * run these scripts, and stampede uses one of them to see what a worker is. Octane looks into its
 * routes before each request anyway, so these cost the app nothing.
 */
final class Scripts implements App
{
    private const RESPONSE = 'Illuminate\Http\Response';

    /**
     * Adds the routes once the app's providers have booted.
     *
     * @param \Illuminate\Foundation\Application $app
     */
    public static function register(object $app): void
    {
        $app->booted(static function () use ($app): void {
            $docroot = $app->publicPath();
            $site = new Site(new self(), $docroot);
            foreach (glob("$docroot/*.php") ?: [] as $file) {
                $path = '/' . basename($file);
                if ($path !== '/index.php') {
                    $app->make('octane')->route(
                        'GET',
                        $path,
                        static fn (object $octaneRequest): object => self::answer($site, $octaneRequest),
                    );
                }
            }
        });
    }

    /**
     * @param \Illuminate\Http\Request $octaneRequest
     * @return \Illuminate\Http\Response
     */
    private static function answer(Site $site, object $octaneRequest): object
    {
        $headers = Response::normalizeHeaders($octaneRequest->headers->all());
        $answer = $site->answer(new Request('GET', $octaneRequest->getRequestUri(), $headers));
        $site->cleanUp();
        $class = self::RESPONSE;

        return new $class($answer->body, $answer->status, $answer->headers);
    }

    public static function adapters(): array
    {
        return [];
    }

    public function handle(Request $request): Response
    {
        throw new Problem('only scripts are run here');
    }

    public function terminate(): void
    {
    }

    public function reboot(): void
    {
    }
}
