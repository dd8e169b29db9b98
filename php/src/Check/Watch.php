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
final class Watch
{
    /** In light mode, how many requests lie between two lines. */
    public const LIGHT_EVERY = 50;
    /**
     * In light mode, how many first requests have a line each: some resources, such as a database's
     * connections, are soon used up.
     */
    public const LIGHT_FIRST = 64;

    private State $state;
    private Held $held;
    /** @var array<string, scalar> */
    private array $booted = [];
    private Found $found;
    private ?string $asked = null;
    private string $entered = '';
    private int $served = 0;

    private function __construct(
        private Journal $journal,
        private Output $output,
        private bool $light,
        Setup $setup,
        object $app,
    ) {
        $place = new Place($setup->app);
        $this->state = new State($place, $app);
        $this->held = new Held($place, $app);
        $this->found = new Found();
    }

    /**
     * Returns null where the working directory has no directory `check`.
     *
     * @param object $app the object that lives as long as the worker
     * @param array<string, mixed> $server the value of `$_SERVER` between requests
     */
    public static function over(Setup $setup, object $app, Output $output, array $server): ?self
    {
        $directory = "{$setup->dir}/check";
        if ($setup->dir === '' || !is_dir($directory)) {
            return null;
        }
        $mode = is_file("$directory/mode") ? (string) file_get_contents("$directory/mode") : '';
        $watch = new self(new Journal($directory), $output, trim($mode) === 'light', $setup, $app);
        $watch->boot($server);

        return $watch;
    }

    /** Called before the request's superglobals are set. */
    public function begin(Request $request): void
    {
        if ($this->light) {
            return;
        }
        $this->asked = $request->header('X-Stampede-Check');
        $this->quietly(function (mixed $handler): void {
            $now = $this->state->lasting($handler) + $this->connected() + [
                'ob_level' => 0,
                'cwd' => $this->cwd(),
                'headers' => State::headers(),
                // What is missing of the boot's values, the site gives to the request.
            ] + $this->booted('server:') + State::superglobal('_ENV:', $_ENV) + $this->booted('_ENV:');
            $this->journal->write(['at' => 'begin', 'n' => $this->asked] + $this->differing($now));
        });
        $this->output->left = 0;
    }

    /** Called when the working directory has become the request's. */
    public function entered(): void
    {
        if (!$this->light) {
            $this->entered = (string) getcwd();
        }
    }

    /** Called after the library has cleaned up everything that it cleans up. */
    public function end(): void
    {
        $this->served++;
        if (!$this->light) {
            $this->quietly(fn (mixed $handler) => $this->look($handler));
        } elseif ($this->served <= self::LIGHT_FIRST || $this->served % self::LIGHT_EVERY === 0) {
            $this->quietly(fn () => $this->glance());
        }
    }

    /** @param array<string, mixed> $server */
    private function boot(array $server): void
    {
        $this->quietly(function (mixed $handler) use ($server): void {
            // Until the first request comes, the directory is the worker's own.
            $this->entered = (string) getcwd();
            // The look is taken in light mode too: what it loads must not count as growth later.
            $looked = $this->held->look();
            $this->found = $this->light ? new Found() : $looked;
            $this->booted = $this->state->lasting($handler) + $this->left($server);
            $this->journal->write([
                'at' => 'boot',
                'worker' => $this->journal->worker,
                'pid' => getmypid(),
                'thread' => Process::thread(),
                'memory' => memory_get_usage(),
                'state' => (object) $this->booted,
            ]);
        });
    }

    private function look(mixed $handler): void
    {
        gc_collect_cycles();
        $memory = memory_get_usage();
        $files = Process::files();
        $this->found = $this->held->look();
        $now = $this->state->lasting($handler) + $this->left($_SERVER);
        $this->journal->write(['at' => 'end', 'n' => $this->asked] + $this->differing($now) + [
            'memory' => $memory,
            'files' => $files,
            'held' => $this->found->tokens,
        ]);
    }

    private function glance(): void
    {
        // Cycles that wait for PHP's collector are not kept. They would hide what is kept.
        gc_collect_cycles();
        $line = ['at' => 'end', 'served' => $this->served, 'memory' => memory_get_usage()];
        $line['rss'] = Process::resident();
        $line['files'] = Process::files();
        $found = $this->held->sizes();
        $line['connections'] = $found->connections;
        $line['sizes'] = (object) $found->sizes;
        $this->journal->write($line);
    }

    /**
     * Returns what belongs to one request and is put back by the library.
     *
     * @param array<string, mixed> $server
     * @return array<string, scalar>
     */
    private function left(array $server): array
    {
        return $this->connected() + [
            'ob_level' => $this->output->left,
            'cwd' => $this->cwd(),
            // In FrankenPHP they are the headers of the answer that was just sent.
            'headers' => self::isWebServer() ? $this->booted['headers'] ?? '' : State::headers(),
        ] + $this->server($server) + State::superglobal('_ENV:', $_ENV);
    }

    /**
     * Returns the settings of database connections, as found by the last look: none is asked twice.
     *
     * @return array<string, scalar>
     */
    private function connected(): array
    {
        $told = ['transactions' => $this->found->transactions];
        foreach ($this->found->sessions as $connection => $settings) {
            // Apps set such a variable before they use it. A user's value in one is found by its
            // token.
            unset($settings[Session::VARIABLES]);
            foreach ($settings as $name => $value) {
                $told["db:$name $connection"] = State::short($value);
            }
        }

        return $told;
    }

    /**
     * Returns the entries of `$_SERVER`; in FrankenPHP those of the boot, for it is new in each
     * request.
     *
     * @param array<string, mixed> $now
     * @return array<string, scalar>
     */
    private function server(array $now): array
    {
        $isKept = !self::isWebServer() || $this->booted === [];

        return $isKept ? State::superglobal('server:', $now) : $this->booted('server:');
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
    private function cwd(): string
    {
        $now = (string) getcwd();

        return $now === $this->entered ? '' : $now;
    }

    /** @return array<string, scalar> */
    private function booted(string $begin): array
    {
        $begins = static fn (string $key): bool => str_starts_with($key, $begin);

        return array_filter($this->booted, $begins, ARRAY_FILTER_USE_KEY);
    }

    /**
     * @param array<string, scalar> $now
     * @return array<string, mixed>
     */
    private function differing(array $now): array
    {
        $differs = fn (mixed $value, string $key): bool => ($this->booted[$key] ?? null) !== $value;
        $gone = array_keys(array_diff_key($this->booted, $now));

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
    private function quietly(callable $work): void
    {
        $handler = set_error_handler(static fn (): bool => true);
        try {
            $work($handler);
        } catch (\Throwable $error) {
            // The reader of the lines misses one of them, and can say why.
            $this->journal->failed($error);
        } finally {
            restore_error_handler();
        }
    }
}
