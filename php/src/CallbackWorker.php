<?php

declare(strict_types=1);

namespace Stampede\Worker;

/**
 * Handles the requests of one process whose server calls back for each. However many requests the
 * server has at once, the app gets one at a time.
 */
final class CallbackWorker
{
    /** The most bytes of a request's body, the same as php.ini's `post_max_size`. */
    public const BODY = 50 << 20;
    /** Seconds that a client may still use a connection that will be closed. */
    public const GRACE = 2;

    private int $served = 0;
    private bool $closes = false;
    /** The request that was answered but not cleaned up after. */
    private ?Request $answered = null;
    /** The request that the app is handling. */
    private ?Request $current = null;
    /** The answer that is being streamed. */
    private ?Http1Stream $stream = null;
    /** @var resource|null */
    private $connection = null;

    /**
     * @param int $maxRequests the worker ends after so many; 0: no limit
     * @param callable(): void $onLimit stops accepting connections, and ends when none is left
     */
    public function __construct(
        private Site $site,
        private int $maxRequests,
        private $onLimit,
    ) {
    }

    /**
     * Prepares everything that this process does, as the plan wants it.
     *
     * @param callable(): void $onLimit
     */
    public static function create(Setup $setup, Site $site, callable $onLimit): self
    {
        $worker = new self($site, $setup->integer('max_requests'), $onLimit);
        $worker->closes = !($setup->settings['keep_alive'] ?? true);
        $site->output->guard();
        register_shutdown_function([$worker, 'handleShutdown']);

        return $worker;
    }

    /**
     * Returns the answer; null: it was streamed to the connection, which the server has to close.
     *
     * @param resource|null $connection the client's connection, used for an answer that is streamed,
     *     and if its request ends PHP, by `exit` or by an error that nobody can catch
     */
    public function answer(Request $request, $connection = null): ?Response
    {
        $this->cleanUp();
        $this->current = $request;
        $this->connection = $connection;
        $response = $this->stream($this->site->answer($request));
        $this->current = $this->connection = null;
        $this->answered = $request;
        if (++$this->served === $this->maxRequests) {
            $this->closes = true;
            ($this->onLimit)();
        }

        return $this->closes && $response !== null ? self::closeConnection($response) : $response;
    }

    /** Cleans up after the answer was sent, at the latest before the next request. */
    public function cleanUp(): void
    {
        if ($this->answered !== null) {
            $request = $this->answered;
            $this->answered = null;
            $this->site->cleanUp();
            Uploads::remove($request->files);
        }
    }

    /** From now on closes each connection after its answer. */
    public function disableKeepAlive(): void
    {
        $this->closes = true;
    }

    /** @internal called by PHP */
    public function handleShutdown(): void
    {
        if ($this->stream !== null) {
            $this->site->output->takePrinted();
            $this->stream->end();
        } elseif ($this->current !== null && is_resource($this->connection)) {
            $response = self::closeConnection($this->site->answerAfterExit());
            Http1::send($this->connection, $response, $this->current->method);
        }
        Uploads::remove($this->current->files ?? []);
    }

    /** Streams an answer that wants it; without the client's connection its body is collected. */
    private function stream(Response $response): ?Response
    {
        if ($response->stream === null) {
            return $response;
        }
        if (!is_resource($this->connection) || $this->current === null) {
            return $this->site->collect($response);
        }
        $stream = $this->stream = new Http1Stream($this->connection, $response, $this->current);
        $this->site->stream($response, $stream->write(...));
        $stream->end();
        $this->stream = null;

        return null;
    }

    private static function closeConnection(Response $response): Response
    {
        return $response->setHeader('Connection', 'close');
    }
}
