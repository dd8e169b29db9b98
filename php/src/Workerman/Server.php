<?php

declare(strict_types=1);

namespace Stampede\Worker\Workerman;

use Stampede\Worker\Pool\FirstBoot;
use Stampede\Worker\Setup;
use Stampede\Worker\Shift;
use Stampede\Worker\Site;
use Workerman\Connection\TcpConnection;
use Workerman\Protocols\Http\Request;
use Workerman\Timer;
use Workerman\Worker;

/** Runs one process of Workerman. */
final class Server
{
    private Shift $shift;
    private bool $ending = false;

    public function __construct(private Setup $setup, private Worker $worker)
    {
    }

    /** Boots the app, and answers requests from then on. */
    public function begin(FirstBoot $boot): void
    {
        // SIGQUIT: with other signals Workerman's master waits a second before it tells its
        // processes.
        $site = $boot->of(fn (): Site => Site::boot($this->setup), SIGQUIT);
        $this->shift = Shift::of($this->setup, $site, fn () => $this->leave());
        $this->worker->onMessage = function (TcpConnection $connection, Request $asked): void {
            $this->answer($connection, $asked);
        };
        $this->worker->onClose = fn () => $this->endIfIdle();
    }

    private function answer(TcpConnection $connection, Request $asked): void
    {
        $request = Messages::request($asked, $connection->getRemoteIp());
        $answer = $this->shift->answer($request, $connection->getSocket());
        $bytes = Messages::bytes($answer, $request);
        // Workerman keeps a connection open unless it is told to close it.
        if (($answer->headers['Connection'] ?? []) === ['close'] || Messages::closes($request)) {
            $connection->close($bytes, true);
        } else {
            $connection->send($bytes, true);
        }
        $this->shift->after();
    }

    private function leave(): void
    {
        $this->ending = true;
        $this->worker->unlisten();
        Timer::delay(Shift::GRACE, static fn () => Worker::stopAll());
    }

    private function endIfIdle(): void
    {
        // The connection that is closing still counts.
        if ($this->ending && count($this->worker->connections) <= 1) {
            Worker::stopAll();
        }
    }
}
