<?php

declare(strict_types=1);

namespace Stampede\Worker\Swoole;

/**
 * What the manager looks after. It ends all when a worker could not begin, and it ends a worker
 * that PHP left half way: when memory is exhausted PHP unwinds the request but not the process,
 * and the server answers 503 to all that this worker gets from then on. No PHP runs in it any
 * more.
 */
final class Watch
{
    private const EVERY_MS = 50;
    /** As `getWorkerStatus` says it of a worker that waits for requests. */
    private const IDLE = 2;
    private const KILL = 9;

    /** @var list<object> counters by worker; odd: inside a request */
    private array $counts = [];

    /** @var callable(string): void */
    private $log;

    /**
     * @param string $space namespace of the extension
     * @param ?callable(string): void $log takes a line; standard error when not given
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
            $this->counts[] = new $class(0);
        }
    }

    /** In a worker that begins, or begins anew. */
    public function begins(int $worker): void
    {
        $this->counts[$worker]->set(0);
    }

    /** In a worker, when it goes into a request and when it comes out. */
    public function passes(int $worker): void
    {
        $this->counts[$worker]->add(1);
    }

    /** In the manager, once. */
    public function keep(): void
    {
        $timer = "{$this->space}\\Timer";
        $timer::tick(self::EVERY_MS, [$this, 'look']);
    }

    /** In the manager, again and again. */
    public function look(): void
    {
        if ($this->failure->isTold()) {
            // Not by the worker itself: the first process may not listen to signals yet.
            $this->server->shutdown();

            return;
        }
        foreach ($this->counts as $worker => $count) {
            $inside = $count->get();
            if ($inside % 2 === 0 || $this->server->getWorkerStatus($worker) !== self::IDLE) {
                continue;
            }
            // The same request before and after: it was not just about to begin or to end.
            if ($count->get() === $inside) {
                $count->set(0);
                ($this->log)("stampede: PHP left worker $worker half way: it is replaced");
                $process = "{$this->space}\\Process";
                $process::kill($this->server->getWorkerPid($worker), self::KILL);
            }
        }
    }
}
