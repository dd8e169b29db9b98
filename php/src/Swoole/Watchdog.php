<?php

declare(strict_types=1);

namespace Stampede\Worker\Swoole;

/**
 * Runs in the manager. It ends everything when a worker could not begin. It also ends a worker that
 * PHP left half way. When memory is exhausted, PHP unwinds the request but not the process. No PHP
 * runs in that worker any more, and the server answers 503 to all its requests.
 */
final class Watchdog
{
    private const EVERY_MS = 50;
    /** The value of `getWorkerStatus` for a worker that waits for requests. */
    private const IDLE = 2;
    private const KILL = 9;

    /** @var list<\Swoole\Atomic> counters by worker; an odd value: the worker is inside a request */
    private array $counts = [];

    /** @var callable(string): mixed */
    private $log;

    /**
     * @param \Swoole\Http\Server $server
     * @param string $space namespace of the extension
     * @param ?callable(string): void $log takes a line; by default it goes to standard error
     */
    public function __construct(
        private object $server,
        private string $space,
        private Failure $failure,
        int $workers,
        ?callable $log = null,
    ) {
        $this->log = $log ?? static fn (string $line) => fwrite(STDERR, "$line\n");
        $class = "$space\\Atomic";
        for ($worker = 0; $worker < $workers; $worker++) {
            /** @var \Swoole\Atomic $count */
            $count = new $class(0);
            $this->counts[] = $count;
        }
    }

    /** Called in a worker when it begins or begins again. */
    public function resetWorker(int $worker): void
    {
        $this->counts[$worker]->set(0);
    }

    /** Called in a worker when it enters a request and when it leaves the request. */
    public function countTransition(int $worker): void
    {
        $this->counts[$worker]->add(1);
    }

    /** Called once in the manager. */
    public function start(): void
    {
        $timer = "{$this->space}\\Timer";
        $timer::tick(self::EVERY_MS, [$this, 'check']);
    }

    /** Called regularly in the manager. */
    public function check(): void
    {
        if ($this->failure->isStored()) {
            // The worker must not do this itself: the first process may not listen to signals yet.
            $this->server->shutdown();

            return;
        }
        foreach ($this->counts as $worker => $count) {
            $inside = $count->get();
            if ($inside % 2 === 0 || $this->server->getWorkerStatus($worker) !== self::IDLE) {
                continue;
            }
            // The count is the same before and after, so the worker was not just beginning or
            // ending one.
            if ($count->get() === $inside) {
                $count->set(0);
                ($this->log)("stampede: PHP left worker $worker half way: it is replaced");
                $process = "{$this->space}\\Process";
                $process::kill($this->server->getWorkerPid($worker), self::KILL);
            }
        }
    }
}
