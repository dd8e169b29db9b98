<?php

declare(strict_types=1);

namespace Stampede\Worker\App;

use Symfony\Component\HttpFoundation\Request;

/** Requests in the form that Laravel and Lumen use, and the clean-up between requests. */
final class Illuminate
{
    private const FILE = 'Illuminate\Http\UploadedFile';

    /** @param class-string<\Illuminate\Http\Request> $class of the framework's request */
    public static function request(string $class, Request $frameworkRequest): Request
    {
        $frameworkRequest->files->replace(self::files($frameworkRequest->files->all()));

        return $class::createFromBase($frameworkRequest);
    }

    /**
     * Removes what a request has left in services that stay alive. A session's values would
     * otherwise be in the next session, even in another user's.
     *
     * @param \Illuminate\Container\Container $app
     */
    public static function clearRequestState(object $app): void
    {
        /** @var ?\Illuminate\Session\SessionManager $sessions */
        $sessions = self::findMade($app, 'session');
        if ($sessions !== null) {
            $sessions->driver()->flush();
            $sessions->driver()->regenerate();
        }
        // Some of these methods came only in a later version of Laravel 8.
        foreach (['cookie' => 'flushQueuedCookies', 'auth' => 'forgetGuards'] as $name => $method) {
            $service = self::findMade($app, $name);
            if ($service !== null && method_exists($service, $method)) {
                $service->$method();
            }
        }
    }

    /**
     * Returns a service that the app has made; null: it has made none.
     *
     * @param \Illuminate\Container\Container $app
     * @param 'auth'|'cookie'|'session' $name
     */
    private static function findMade(object $app, string $name): ?object
    {
        return method_exists($app, 'resolved') && $app->resolved($name) ? $app->make($name) : null;
    }

    /**
     * Returns files in the framework's own class. The framework would build them from Symfony's
     * class itself, and then ask PHP whether each is an upload. PHP took no upload here.
     *
     * @param array<mixed> $tree
     * @return array<mixed>
     */
    private static function files(array $tree): array
    {
        [$class, $isTest] = [self::FILE, true];

        return array_map(static fn (mixed $node): mixed => match (true) {
            is_array($node) => self::files($node),
            $node === null => null,
            default => $class::createFromBase($node, $isTest),
        }, $tree);
    }
}
