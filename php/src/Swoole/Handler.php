<?php

declare(strict_types=1);

namespace Stampede\Worker\Swoole;

use Stampede\Worker\Response;
use Stampede\Worker\Setup;
use Stampede\Worker\Site;

/** Runs in one worker process: it boots the app, then answers the server's requests. */
final class Handler
{
    private ?Site $site = null;
    /** @var \Swoole\Http\Server */
    private object $server;
    private int $worker = 0;
    /**
     * The server's objects for answers that are still due; with coroutines there are several at
     * once. They are held weakly: if PHP leaves a request half way, the server answers 500 as soon
     * as nobody else holds the object.
     *
     * @var \WeakMap<\Swoole\Http\Response, true>
     */
    private \WeakMap $pending;

    /** @param list<string> $exits classes that `exit` throws */
    public function __construct(
        private Setup $setup,
        private Failure $failure,
        private Watchdog $watchdog,
        private array $exits,
    ) {
        $this->pending = new \WeakMap();
    }

    /**
     * Called first in a worker.
     *
     * @param \Swoole\Http\Server $server
     */
    public function begin(object $server, int $worker): void
    {
        [$this->server, $this->worker] = [$server, $worker];
        $this->watchdog->resetWorker($worker);
        try {
            $this->site = Site::boot($this->setup);
            $this->site->exits = $this->exits;
            register_shutdown_function([$this, 'answerPending']);
            self::setProcessName("worker-$worker");
        } catch (\Throwable $error) {
            // If only this worker ended, it would be started again and again. So the manager ends
            // all.
            $this->failure->store($error);
        }
    }

    /** Called last in a worker that is asked to end. */
    public function end(): void
    {
        self::setProcessName('ends');
    }

    /**
     * Answers a client's request.
     *
     * @param \Swoole\Http\Request $request
     * @param \Swoole\Http\Response $response
     */
    public function answer(object $request, object $response): void
    {
        $site = $this->site;
        if ($site === null) {
            Message::send(new Response(503), $response);

            return;
        }
        $this->countTransition();
        $this->pending[$response] = true;
        $converted = Message::request($request, "{$this->setup->dir}/tmp");
        $answer = $site->answer($converted);
        $isHead = $converted->method === 'HEAD';
        Message::send($isHead ? Message::withoutBody($answer) : $answer, $response);
        if ($answer->stream !== null && !$isHead) {
            $site->stream($answer, static function (string $piece) use ($response): void {
                if ($piece !== '') {
                    $response->write($piece);
                }
            });
            $response->end();
        }
        unset($this->pending[$response]);
        $site->cleanUp();
        $this->countTransition();
        if ($site->exited) {
            // Under PHP-FPM nothing of the process's state is left after `exit` either.
            $this->server->stop();
        }
    }

    /** Answers open requests when the worker ends by an error that nobody can catch. */
    public function answerPending(): void
    {
        foreach ($this->pending as $response => $is) {
            $body = (string) $this->site?->output->takePrinted();
            Message::send((new Response(500, [], $body))->ensureType(), $response);
        }
    }

    /**
     * Skipped with coroutines: a worker is then inside several requests, and idle while all of them
     * wait.
     */
    private function countTransition(): void
    {
        if (!$this->setup->isOn('coroutines')) {
            $this->watchdog->countTransition($this->worker);
        }
    }

    /** Sets the name of this process in the kernel. Workers are counted by it. */
    private static function setProcessName(string $name): void
    {
        @file_put_contents('/proc/self/comm', $name);
    }
}
