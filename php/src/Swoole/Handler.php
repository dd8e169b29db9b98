<?php

declare(strict_types=1);

namespace Stampede\Worker\Swoole;

use Stampede\Worker\Response;
use Stampede\Worker\Setup;
use Stampede\Worker\Site;

/** One worker process: it boots the app when it begins, then answers what the server gives it. */
final class Handler
{
    private ?Site $site = null;
    private object $server;
    private int $worker = 0;
    /**
     * The server's sides of answers that are due: with coroutines of several at once. Held weakly:
     * where PHP leaves a request half way, the server answers 500 as soon as nobody else has it.
     *
     * @var \WeakMap<object, true>
     */
    private \WeakMap $due;

    /** @param list<string> $exits classes of what `exit` throws */
    public function __construct(
        private Setup $setup,
        private Failure $failure,
        private Watch $watch,
        private array $exits,
    ) {
        $this->due = new \WeakMap();
    }

    /** What the worker does first. */
    public function begin(object $server, int $worker): void
    {
        [$this->server, $this->worker] = [$server, $worker];
        $this->watch->begins($worker);
        try {
            $this->site = Site::boot($this->setup);
            $this->site->exits = $this->exits;
            register_shutdown_function([$this, 'died']);
            self::name("worker-$worker");
        } catch (\Throwable $error) {
            // A worker that just ended would be started again and again: the manager ends all.
            $this->failure->tell($error);
        }
    }

    /** What it does last, where it is asked to end. */
    public function end(): void
    {
        self::name('ends');
    }

    /** What a client asked. */
    public function answer(object $request, object $response): void
    {
        if ($this->site === null) {
            Message::send(new Response(503), $response);

            return;
        }
        $this->passes();
        $this->due[$response] = true;
        $asked = Message::request($request);
        $answer = $this->site->answer($asked);
        $isHead = $asked->method === 'HEAD';
        Message::send($isHead ? Message::withoutBody($answer) : $answer, $response);
        unset($this->due[$response]);
        $this->site->after();
        $this->passes();
        if ($this->site->exited) {
            // Under PHP-FPM nothing is left of it either.
            $this->server->stop();
        }
    }

    /** The last word of a worker that ends by an error that nobody can catch. */
    public function died(): void
    {
        foreach ($this->due as $response => $is) {
            $body = $this->site->output->taken();
            Message::send((new Response(500, [], $body))->typed(), $response);
        }
    }

    /** With coroutines it is inside of several requests at once, and idle while all of them wait. */
    private function passes(): void
    {
        $this->setup->isOn('coroutines') || $this->watch->passes($this->worker);
    }

    /** The name of this process as the kernel has it: workers are counted by it. */
    private static function name(string $name): void
    {
        @file_put_contents('/proc/self/comm', $name);
    }
}
