<?php

declare(strict_types=1);

namespace Stampede\Worker\Check;

use Stampede\Worker\Output;
use Stampede\Worker\Request;
use Stampede\Worker\Setup;

/**
 * Writes what a worker keeps from one request to the next, line by line, for `stampede check`. It
 * exists only where the working directory has a directory `check`. It changes nothing that the app
 * sees, and it never throws.
 */
final class StateRecorder
{
    /** In light mode, how many requests lie between two lines. */
    public const LIGHT_EVERY = 50;
    /**
     * In light mode, how many first requests have a line each: some resources, such as a database's
     * connections, are soon used up.
     */
    public const LIGHT_FIRST = 64;

    private ProcessState $state;
    private RetainedState $retained;
    /** @var array<string, scalar> */
    private array $bootState = [];
    private ScanResult $lastScan;
    private ?string $requestNumber = null;
    private string $requestDirectory = '';
    private int $served = 0;

    private function __construct(
        private Journal $journal,
        private Output $output,
        private bool $light,
        Setup $setup,
        object $app,
    ) {
        $appDirectory = new AppDirectory($setup->app);
        $this->state = new ProcessState($appDirectory, $app);
        $this->retained = new RetainedState($appDirectory, $app);
        $this->lastScan = new ScanResult();
    }

    /**
     * Returns null where the working directory has no directory `check`.
     *
     * @param object $app the object that lives as long as the worker
     * @param array<mixed> $server the value of `$_SERVER` between requests
     */
    public static function create(Setup $setup, object $app, Output $output, array $server): ?self
    {
        $directory = "{$setup->dir}/check";
        if ($setup->dir === '' || !is_dir($directory)) {
            return null;
        }
        $mode = is_file("$directory/mode") ? (string) file_get_contents("$directory/mode") : '';
        $recorder = new self(new Journal($directory), $output, trim($mode) === 'light', $setup, $app);
        $recorder->recordBoot($server);

        return $recorder;
    }

    /** Called before the request's superglobals are set. */
    public function beginRequest(Request $request): void
    {
        if ($this->light) {
            return;
        }
        $this->requestNumber = $request->header('X-Stampede-Check');
        $this->runSilently(function (mixed $handler): void {
            $now = $this->state->collect($handler) + $this->connectionSettings() + [
                'ob_level' => 0,
                'cwd' => $this->changedDirectory(),
                'headers' => ProcessState::formatHeaders(),
                // What is missing of the boot's values, the site gives to the request.
            ] + $this->bootEntries('server:') + ProcessState::formatSuperglobal('_ENV:', $_ENV)
                + $this->bootEntries('_ENV:');
            $this->journal->write(['at' => 'begin', 'n' => $this->requestNumber] + $this->diffFromBoot($now));
        });
        $this->output->unclosed = 0;
    }

    /** Called when the working directory has become the request's. */
    public function enterDirectory(): void
    {
        if (!$this->light) {
            $this->requestDirectory = (string) getcwd();
        }
    }

    /** Called after the library has cleaned up everything that it cleans up. */
    public function endRequest(): void
    {
        $this->served++;
        if (!$this->light) {
            $this->runSilently(fn (mixed $handler) => $this->recordEnd($handler));
        } elseif ($this->served <= self::LIGHT_FIRST || $this->served % self::LIGHT_EVERY === 0) {
            $this->runSilently(fn () => $this->recordLightEnd());
        }
    }

    /** @param array<mixed> $server */
    private function recordBoot(array $server): void
    {
        $this->runSilently(function (mixed $handler) use ($server): void {
            // Until the first request comes, the directory is the worker's own.
            $this->requestDirectory = (string) getcwd();
            // The scan is made in light mode too: what it loads must not count as growth later.
            $scanned = $this->retained->scan();
            $this->lastScan = $this->light ? new ScanResult() : $scanned;
            $this->bootState = $this->state->collect($handler) + $this->requestState($server);
            $this->journal->write([
                'at' => 'boot',
                'worker' => $this->journal->worker,
                'pid' => getmypid(),
                'thread' => Process::threadId(),
                'memory' => memory_get_usage(),
                'state' => (object) $this->bootState,
            ]);
        });
    }

    private function recordEnd(mixed $handler): void
    {
        gc_collect_cycles();
        $memory = memory_get_usage();
        $files = Process::countFiles();
        $this->lastScan = $this->retained->scan();
        $now = $this->state->collect($handler) + $this->requestState($_SERVER);
        $this->journal->write(['at' => 'end', 'n' => $this->requestNumber] + $this->diffFromBoot($now) + [
            'memory' => $memory,
            'files' => $files,
            'held' => $this->lastScan->tokens,
        ]);
    }

    private function recordLightEnd(): void
    {
        // Cycles that wait for PHP's collector are not kept. They would hide what is kept.
        gc_collect_cycles();
        $line = ['at' => 'end', 'served' => $this->served, 'memory' => memory_get_usage()];
        $line['rss'] = Process::residentBytes();
        $line['files'] = Process::countFiles();
        $measured = $this->retained->measure();
        $line['connections'] = $measured->connections;
        $line['sizes'] = (object) $measured->sizes;
        $this->journal->write($line);
    }

    /**
     * Returns what belongs to one request and is put back by the library.
     *
     * @param array<mixed> $server
     * @return array<string, scalar>
     */
    private function requestState(array $server): array
    {
        return $this->connectionSettings() + [
            'ob_level' => $this->output->unclosed,
            'cwd' => $this->changedDirectory(),
            // In FrankenPHP they are the headers of the answer that was just sent.
            'headers' => self::isWebServer() ? $this->bootState['headers'] ?? '' : ProcessState::formatHeaders(),
        ] + $this->serverEntries($server) + ProcessState::formatSuperglobal('_ENV:', $_ENV);
    }

    /**
     * Returns the settings of database connections, as found by the last scan: none is asked twice.
     *
     * @return array<string, scalar>
     */
    private function connectionSettings(): array
    {
        $values = ['transactions' => $this->lastScan->transactions];
        foreach ($this->lastScan->connectionSettings as $connection => $settings) {
            // Apps set such a variable before they use it. A user's value in one is found by its
            // token.
            unset($settings[ConnectionSettings::VARIABLES]);
            foreach ($settings as $name => $value) {
                $values["db:$name $connection"] = ProcessState::shorten($value);
            }
        }

        return $values;
    }

    /**
     * Returns the entries of `$_SERVER`; in FrankenPHP those of the boot, for it is new in each
     * request.
     *
     * @param array<mixed> $now
     * @return array<string, scalar>
     */
    private function serverEntries(array $now): array
    {
        $isKept = !self::isWebServer() || $this->bootState === [];

        return $isKept ? ProcessState::formatSuperglobal('server:', $now) : $this->bootEntries('server:');
    }

    /**
     * Tells whether this is FrankenPHP, which makes headers and superglobals, but not `$_ENV`, anew
     * for each request.
     */
    public static function isWebServer(): bool
    {
        return PHP_SAPI === 'frankenphp';
    }

    /** Returns an empty string while the app stays in the directory that the request began in. */
    private function changedDirectory(): string
    {
        $now = (string) getcwd();

        return $now === $this->requestDirectory ? '' : $now;
    }

    /** @return array<string, scalar> */
    private function bootEntries(string $begin): array
    {
        $begins = static fn (string $key): bool => str_starts_with($key, $begin);

        return array_filter($this->bootState, $begins, ARRAY_FILTER_USE_KEY);
    }

    /**
     * @param array<string, scalar> $now
     * @return array<string, mixed>
     */
    private function diffFromBoot(array $now): array
    {
        $differs = fn (mixed $value, string $key): bool => ($this->bootState[$key] ?? null) !== $value;
        $gone = array_keys(array_diff_key($this->bootState, $now));

        return [
            'state' => (object) array_filter($now, $differs, ARRAY_FILTER_USE_BOTH),
            'gone' => $gone,
        ];
    }

    /**
     * Runs `$work` so that the app's own error handler sees no error of it.
     *
     * @param callable(mixed): void $work receives the app's error handler
     */
    private function runSilently(callable $work): void
    {
        $handler = set_error_handler(static fn (): bool => true);
        try {
            $work($handler);
        } catch (\Throwable $error) {
            // The reader of the lines misses one of them, and can say why.
            $this->journal->writeFailure($error);
        } finally {
            restore_error_handler();
        }
    }
}
