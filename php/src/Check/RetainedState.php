<?php

declare(strict_types=1);

namespace Stampede\Worker\Check;

use Stampede\Worker\App\SymfonyApp;

/** Searches everything of the app that outlives a request. */
final class RetainedState
{
    private StaticVariables $statics;
    /** @var array<string, array<string, string>> the connections' settings at the last scan */
    private array $connectionSettings = [];

    public function __construct(private AppDirectory $appDirectory, private object $app)
    {
        $this->statics = new StaticVariables($appDirectory);
    }

    /** Finds where tokens of users are kept, and which settings connections have. */
    public function scan(): ScanResult
    {
        $connections = new Connections();
        $services = new Services($this->appDirectory, $this->app, $connections);
        $walker = new ValueWalker($services->knownIds(), true, $connections);
        $result = $this->walkAll($walker, $services);
        $result->transactions = $connections->countTransactions();
        $result->connectionSettings = $this->connectionSettings = $connections->readSettings($this->connectionSettings);
        $result->connections = $connections->count();
        // The sizes of these do not count: `state` reports their values one by one.
        foreach ([self::superglobals(), self::process(), $this->connectionSettings] as $values) {
            foreach ($values as $where => $value) {
                $result->add($where, 0, $walker->walk($value, $where)[1]);
            }
        }

        return $result;
    }

    /** Measures how much every place holds, and counts the connections. */
    public function measure(): ScanResult
    {
        $connections = new Connections();
        $services = new Services($this->appDirectory, $this->app, $connections);
        $result = $this->walkAll(new ValueWalker($services->knownIds(), false, $connections), $services);
        $result->connections = $connections->count();

        return $result;
    }

    private function walkAll(ValueWalker $walker, Services $services): ScanResult
    {
        $result = new ScanResult();
        foreach ([$this->statics->values(), $this->globals(), $services->values()] as $values) {
            foreach ($values as $where => $value) {
                $result->add($where, ...$walker->walk($value, $where));
            }
        }

        return $result;
    }

    /** @return iterable<string, mixed> */
    private function globals(): iterable
    {
        foreach ($GLOBALS as $name => $value) {
            if (!in_array($name, ProcessState::SUPERGLOBALS, true)) {
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
        if (StateRecorder::isWebServer()) {
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
        /** @var array<string, ?string> $settings */
        $settings = ini_get_all(null, false) ?: [];
        foreach ($settings as $name => $value) {
            yield "ini $name" => (string) $value;
        }
    }
}
