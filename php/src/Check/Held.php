<?php

declare(strict_types=1);

namespace Stampede\Worker\Check;

use Stampede\Worker\App\SymfonyApp;

/** Searches everything of the app that outlives a request. */
final class Held
{
    private Owned $owned;
    /** @var array<string, array<string, string>> the connections' settings at the last look */
    private array $sessions = [];

    public function __construct(private Place $place, private object $app)
    {
        $this->owned = new Owned($place);
    }

    /** Finds where tokens of users are kept, and which settings connections have. */
    public function look(): Found
    {
        $connections = new Connections();
        $services = new Services($this->place, $this->app, $connections);
        $walk = new Walk($services->known(), true, $connections);
        $found = $this->through($walk, $services);
        $found->transactions = $connections->transactions();
        $found->sessions = $this->sessions = $connections->sessions($this->sessions);
        $found->connections = $connections->count();
        // The sizes of these do not count: `state` reports their values one by one.
        foreach ([self::superglobals(), self::process(), $this->sessions] as $values) {
            foreach ($values as $where => $value) {
                $found->add($where, 0, $walk->into($value, $where)[1]);
            }
        }

        return $found;
    }

    /** Measures how much every place holds, and counts the connections. */
    public function sizes(): Found
    {
        $connections = new Connections();
        $services = new Services($this->place, $this->app, $connections);
        $found = $this->through(new Walk($services->known(), false, $connections), $services);
        $found->connections = $connections->count();

        return $found;
    }

    private function through(Walk $walk, Services $services): Found
    {
        $found = new Found();
        foreach ([$this->owned->values(), $this->globals(), $services->values()] as $values) {
            foreach ($values as $where => $value) {
                $found->add($where, ...$walk->into($value, $where));
            }
        }

        return $found;
    }

    /** @return iterable<string, mixed> */
    private function globals(): iterable
    {
        foreach ($GLOBALS as $name => $value) {
            if (!in_array($name, State::SUPERGLOBALS, true)) {
                yield "global \$$name" => $value;
            }
        }
        // Symfony empties the session when the next request comes.
        yield '$_SESSION' => $this->app instanceof SymfonyApp ? [] : $_SESSION ?? [];
    }

    /** @return iterable<string, mixed> superglobals as the request left them */
    private static function superglobals(): iterable
    {
        yield '$_ENV' => $_ENV;
        if (Watch::isWebServer()) {
            return;
        }
        yield '$_SERVER' => $_SERVER;
        yield '$_GET' => $_GET;
        yield '$_POST' => $_POST;
        yield '$_COOKIE' => $_COOKIE;
        yield '$_FILES' => $_FILES;
        yield '$_REQUEST' => $_REQUEST;
    }

    /** @return iterable<string, mixed> */
    private static function process(): iterable
    {
        foreach (get_defined_constants(true)['user'] ?? [] as $name => $value) {
            yield "constant $name" => $value;
        }
        foreach (getenv() as $name => $value) {
            yield "environment $name" => $value;
        }
        foreach (ini_get_all(null, false) ?: [] as $name => $value) {
            yield "ini $name" => (string) $value;
        }
    }
}
