<?php

declare(strict_types=1);

namespace Stampede\Worker\Pool;

use Stampede\Worker\Main;
use Stampede\Worker\Problem;

/**
 * Keeps a number of processes running until it is asked to end. A process that leaves is replaced
 * when it says so, a dead one at once, and one that cannot boot after a second. If no process has
 * booted yet and one cannot, the master gives up.
 */
final class Master
{
    /** Seconds between checks for signals. A message of a process wakes the master earlier. */
    private const POLL_SECONDS = 0.2;
    /** Seconds to wait after a failed boot. */
    private const RETRY_SECONDS = 1.0;
    /** Seconds that processes have to end. */
    private const GRACE_SECONDS = 8.0;

    /** @var array<int, Child> by pid */
    private array $children = [];
    private bool $ending = false;
    private bool $booted = false;
    private float $notBefore = 0.0;

    /** @param callable(MasterChannel): void $work what a process runs */
    public function __construct(private int $count, private $work)
    {
    }

    /** @throws Problem if no process can be started */
    public function run(): void
    {
        $end = function (): void {
            $this->ending = true;
        };
        pcntl_signal(SIGTERM, $end);
        pcntl_signal(SIGINT, $end);
        try {
            while (!$this->ending) {
                $this->startMissing();
                $this->readChannels();
                $this->reap();
            }
        } finally {
            $this->endAll();
        }
    }

    private function startMissing(): void
    {
        $staying = array_filter($this->children, static fn (Child $one): bool => !$one->leaving);
        if (microtime(true) >= $this->notBefore) {
            for ($missing = $this->count - count($staying); $missing > 0; $missing--) {
                $this->fork();
            }
        }
    }

    private function fork(): void
    {
        $pair = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
        if ($pair === false) {
            throw new Problem('no process can be started: there is no channel to it');
        }
        [$ours, $theirs] = $pair;
        $pid = pcntl_fork();
        if ($pid === -1) {
            throw new Problem('no process can be started: ' . pcntl_strerror(pcntl_get_last_error()));
        }
        if ($pid === 0) {
            fclose($ours);
            // Open copies in this process would hide from the others that the master is gone.
            foreach ($this->children as $child) {
                fclose($child->channel->stream);
            }
            $this->children = [];
            exit($this->runChild(new MasterChannel($theirs)));
        }
        fclose($theirs);
        $this->children[$pid] = new Child($pid, new MasterChannel($ours));
    }

    /** Runs a process from its beginning to its end; returns its exit code. */
    private function runChild(MasterChannel $channel): int
    {
        pcntl_signal(SIGTERM, SIG_DFL);
        pcntl_signal(SIGINT, SIG_DFL);
        try {
            ($this->work)($channel);
        } catch (\Throwable $error) {
            $channel->sendFailure(Main::describe($error));

            return 1;
        }

        return 0;
    }

    private function readChannels(): void
    {
        $read = array_map(static fn (Child $child) => $child->channel->stream, $this->children);
        $none = null;
        if ($read === [] || @stream_select($read, $none, $none, 0, (int) (self::POLL_SECONDS * 1e6)) === false) {
            $read = [];
            // Without processes there is nothing to wait for. In other cases a signal ended the
            // wait.
            if ($this->children === []) {
                usleep((int) (self::POLL_SECONDS * 1e6));
            }
        }
        foreach (array_keys($read) as $pid) {
            $this->children[$pid]->channel->receive($this->children[$pid]);
            $this->booted = $this->booted || $this->children[$pid]->ready;
        }
        pcntl_signal_dispatch();
    }

    private function reap(): void
    {
        while (($pid = pcntl_waitpid(-1, $status, WNOHANG)) > 0) {
            /** @var int $status */
            $child = $this->children[$pid] ?? null;
            if ($child !== null) {
                unset($this->children[$pid]);
                if (!$this->ending) {
                    $this->handleExit($child, $status);
                }
            }
        }
    }

    private function handleExit(Child $child, int $status): void
    {
        $child->channel->receive($child);
        if ($child->leaving && $status === 0) {
            return;
        }
        $how = pcntl_wifsignaled($status)
            ? 'was ended by signal ' . pcntl_wtermsig($status)
            : 'ended with exit code ' . pcntl_wexitstatus($status);
        if (!$child->ready && !$this->booted) {
            $this->endAll();
            Main::logFatal($child->failure ?: "it $how before it was ready");
            exit(1);
        }
        fwrite(STDERR, rtrim("stampede: worker {$child->pid} $how: {$child->failure}", ': ') . "\n");
        $this->notBefore = $child->ready ? 0.0 : microtime(true) + self::RETRY_SECONDS;
    }

    /** Ends all processes: each sees its channel close. A signal would need the extension `posix`. */
    private function endAll(): void
    {
        $this->ending = true;
        foreach ($this->children as $child) {
            fclose($child->channel->stream);
        }
        $until = microtime(true) + self::GRACE_SECONDS;
        while ($this->children !== [] && microtime(true) < $until) {
            usleep(5000);
            $this->reap();
        }
        foreach (array_keys($this->children) as $pid) {
            fwrite(STDERR, "stampede: worker $pid does not end\n");
        }
    }
}
