<?php

declare(strict_types=1);

namespace Stampede\Worker\Octane;

use Stampede\Worker\App;
use Stampede\Worker\Problem;
use Stampede\Worker\Request;
use Stampede\Worker\Response;
use Stampede\Worker\Site;

/**
 * Scripts beside the front controller, as routes of Octane's own: a web server would run them, and
 * by one of them stampede sees what a worker is. Octane looks into its routes before each request
 * anyway, so that these cost an app nothing.
 */
final class Scripts implements App
{
    private const RESPONSE = 'Illuminate\Http\Response';

    /** Once the app's providers have booted, it has them. */
    public static function join(object $app): void
    {
        $app->booted(static function () use ($app): void {
            $docroot = $app->publicPath();
            $site = new Site(new self(), $docroot);
            foreach (glob("$docroot/*.php") ?: [] as $file) {
                $path = '/' . basename($file);
                $answer = static fn (object $asked): object => self::answer($site, $asked);
                $path === '/index.php' || $app->make('octane')->route('GET', $path, $answer);
            }
        });
    }

    private static function answer(Site $site, object $asked): object
    {
        $headers = Response::listed($asked->headers->all());
        $answer = $site->answer(new Request('GET', $asked->getRequestUri(), $headers));
        $site->after();
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
