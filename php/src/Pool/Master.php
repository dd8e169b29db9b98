<?php

declare(strict_types=1);

namespace Stampede\Worker\Pool;

use Stampede\Worker\Ends;
use Stampede\Worker\Problem;

/**
 * Keeps a number of processes running until it is asked to end. A process that leaves is replaced
 * when it says so, a dead one at once, and one that cannot boot after a second. If no process has
 * booted yet and one cannot, the master gives up.
 */
final class Master
{
    /** Seconds between looks at signals. A message of a process wakes the master earlier. */
    private const LOOK = 0.2;
    /** Seconds to wait after a failed boot. */
    private const PAUSE = 1.0;
    /** Seconds that processes have to end. */
    private const GRACE = 8.0;

    /** @var array<int, Child> by pid */
    private array $children = [];
    private bool $ending = false;
    private bool $booted = false;
    private float $notBefore = 0.0;

    /** @param callable(Line): void $work what a process runs */
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
                $this->fill();
                $this->look();
                $this->reap();
            }
        } finally {
            $this->end();
        }
    }

    private function fill(): void
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
        [$ours, $theirs] = (array) stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
        $pid = pcntl_fork();
        if ($pid === -1) {
            throw new Problem('no process can be started: ' . pcntl_strerror(pcntl_get_last_error()));
        }
        if ($pid === 0) {
            fclose($ours);
            // Open copies in this process would hide from the others that the master is gone.
            foreach ($this->children as $child) {
                fclose($child->line->stream);
            }
            $this->children = [];
            exit($this->live(new Line($theirs)));
        }
        fclose($theirs);
        $this->children[$pid] = new Child($pid, new Line($ours));
    }

    /** Runs a process from its beginning to its end; returns its exit code. */
    private function live(Line $line): int
    {
        pcntl_signal(SIGTERM, SIG_DFL);
        pcntl_signal(SIGINT, SIG_DFL);
        try {
            ($this->work)($line);
        } catch (\Throwable $error) {
            $line->failed(Ends::why($error));

            return 1;
        }

        return 0;
    }

    private function look(): void
    {
        $read = array_map(static fn (Child $child) => $child->line->stream, $this->children);
        $none = null;
        if ($read === [] || @stream_select($read, $none, $none, 0, (int) (self::LOOK * 1e6)) === false) {
            $read = [];
            // Without processes there is nothing to wait for. In other cases a signal ended the
            // wait.
            $this->children === [] && usleep((int) (self::LOOK * 1e6));
        }
        foreach (array_keys($read) as $pid) {
            $this->children[$pid]->line->told($this->children[$pid]);
            $this->booted = $this->booted || $this->children[$pid]->ready;
        }
        pcntl_signal_dispatch();
    }

    private function reap(): void
    {
        while (($pid = pcntl_waitpid(-1, $status, WNOHANG)) > 0) {
            $child = $this->children[$pid] ?? null;
            if ($child !== null) {
                unset($this->children[$pid]);
                $this->ending || $this->gone($child, $status);
            }
        }
    }

    private function gone(Child $child, int $status): void
    {
        $child->line->told($child);
        if ($child->leaving && $status === 0) {
            return;
        }
        $how = pcntl_wifsignaled($status)
            ? 'was ended by signal ' . pcntl_wtermsig($status)
            : 'ended with exit code ' . pcntl_wexitstatus($status);
        if (!$child->ready && !$this->booted) {
            $this->end();
            Ends::lastly($child->why ?: "it $how before it was ready");
            exit(1);
        }
        fwrite(STDERR, rtrim("stampede: worker {$child->pid} $how: {$child->why}", ': ') . "\n");
        $this->notBefore = $child->ready ? 0.0 : microtime(true) + self::PAUSE;
    }

    /** Ends all processes: each sees its line close. A signal would need the extension `posix`. */
    private function end(): void
    {
        $this->ending = true;
        foreach ($this->children as $child) {
            fclose($child->line->stream);
        }
        $until = microtime(true) + self::GRACE;
        while ($this->children !== [] && microtime(true) < $until) {
            usleep(5000);
            $this->reap();
        }
        foreach (array_keys($this->children) as $pid) {
            fwrite(STDERR, "stampede: worker $pid does not end\n");
        }
    }
}
