<?php

declare(strict_types=1);

namespace Stampede\Worker\App;

use Symfony\Component\HttpFoundation\Request;

/** Requests as Laravel and Lumen have them. */
final class Illuminate
{
    private const FILE = 'Illuminate\Http\UploadedFile';

    /** @param class-string $class of the framework's request */
    public static function request(string $class, Request $asked): Request
    {
        $asked->files->replace(self::files($asked->files->all()));

        return $class::createFromBase($asked);
    }

    /**
     * Takes from services that live on what a request has left in them: a session's values would be
     * in the next session, whoever's that is.
     */
    public static function forget(object $app): void
    {
        $made = static fn (string $name): ?object =>
            method_exists($app, 'resolved') && $app->resolved($name) ? $app->make($name) : null;
        if (($sessions = $made('session')) !== null) {
            $sessions->driver()->flush();
            $sessions->driver()->regenerate();
        }
        // Some came late in Laravel 8.
        foreach (['cookie' => 'flushQueuedCookies', 'auth' => 'forgetGuards'] as $name => $method) {
            $service = $made($name);
            if ($service !== null && method_exists($service, $method)) {
                $service->$method();
            }
        }
    }

    /**
     * Files in the framework's own class. From Symfony's it would make them itself, and then ask
     * PHP whether each is an upload. PHP took none here.
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
