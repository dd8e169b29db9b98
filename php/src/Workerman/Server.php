<?php

declare(strict_types=1);

namespace Stampede\Worker\Workerman;

use Stampede\Worker\CallbackWorker;
use Stampede\Worker\Pool\FirstBoot;
use Stampede\Worker\Setup;
use Stampede\Worker\Site;
use Workerman\Connection\TcpConnection;
use Workerman\Protocols\Http\Request;
use Workerman\Timer;
use Workerman\Worker;

/** Runs one process of Workerman. */
final class Server
{
    private CallbackWorker $callbackWorker;
    private bool $ending = false;

    public function __construct(private Setup $setup, private Worker $worker)
    {
    }

    /** Boots the app, and answers requests from then on. */
    public function begin(FirstBoot $boot): void
    {
        // SIGQUIT: with other signals Workerman's master waits a second before it tells its
        // processes.
        // Workerman's own entry. A web server gives none of that name.
        unset($_SERVER['SERVER_START_TIME']);
        $site = $boot->run(fn (): Site => Site::boot($this->setup), SIGQUIT);
        $this->callbackWorker = CallbackWorker::create($this->setup, $site, fn () => $this->stopAccepting());
        $this->worker->onMessage = function (TcpConnection $connection, Request $workermanRequest): void {
            $this->answer($connection, $workermanRequest);
        };
        $this->worker->onClose = fn () => $this->endIfIdle();
    }

    private function answer(TcpConnection $connection, Request $workermanRequest): void
    {
        [$client, $port] = [$connection->getRemoteIp(), $connection->getRemotePort()];
        $request = Messages::request($workermanRequest, $client, $port, "{$this->setup->dir}/tmp");
        $answer = $this->callbackWorker->answer($request, $connection->getSocket());
        if ($answer === null) {
            $connection->close();
            $this->callbackWorker->cleanUp();

            return;
        }
        $bytes = Messages::bytes($answer, $request);
        // Workerman keeps a connection open unless it is told to close it.
        if (($answer->headers['Connection'] ?? []) === ['close'] || Messages::wantsClose($request)) {
            $connection->close($bytes, true);
        } else {
            $connection->send($bytes, true);
        }
        $this->callbackWorker->cleanUp();
    }

    private function stopAccepting(): void
    {
        $this->ending = true;
        $this->worker->unlisten();
        Timer::delay(CallbackWorker::GRACE, static fn () => Worker::stopAll());
    }

    private function endIfIdle(): void
    {
        // The connection that is closing still counts.
        if ($this->ending && count($this->worker->connections) <= 1) {
            Worker::stopAll();
        }
    }
}
