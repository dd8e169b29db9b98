<?php

declare(strict_types=1);

namespace Stampede\Worker;

/**
 * Handles the requests of one process whose server calls back for each. However many requests the
 * server has at once, the app gets one at a time.
 */
final class Shift
{
    /** The most bytes of a request's body, the same as php.ini's `post_max_size`. */
    public const BODY = 50 << 20;
    /** Seconds that a client may still use a connection that will be closed. */
    public const GRACE = 2;

    private int $served = 0;
    private bool $over = false;
    /** The request that was answered but not cleaned up after. */
    private ?Request $done = null;
    /** The request that the app is handling. */
    private ?Request $asked = null;
    /** @var resource|null */
    private $connection = null;

    /**
     * @param int $maxRequests the shift is over after so many; 0: never
     * @param callable(): void $onOver stops accepting connections, and ends when none is left
     */
    public function __construct(
        private Site $site,
        private int $maxRequests,
        private $onOver,
    ) {
    }

    /**
     * Prepares everything that this process does, as the plan wants it.
     *
     * @param callable(): void $onOver
     */
    public static function of(Setup $setup, Site $site, callable $onOver): self
    {
        $shift = new self($site, $setup->number('max_requests'), $onOver);
        $shift->over = !($setup->settings['keep_alive'] ?? true);
        $site->output->guard();
        register_shutdown_function([$shift, 'exited']);

        return $shift;
    }

    /**
     * @param resource|null $connection the client's connection, used if its request ends PHP, by
     *     `exit` or by an error that nobody can catch
     */
    public function answer(Request $request, $connection = null): Response
    {
        $this->after();
        $this->asked = $request;
        $this->connection = $connection;
        $response = $this->site->answer($request);
        $this->asked = $this->connection = null;
        $this->done = $request;
        if (++$this->served === $this->maxRequests) {
            $this->over = true;
            ($this->onOver)();
        }

        return $this->over ? self::last($response) : $response;
    }

    /** Cleans up after the answer was sent, at the latest before the next request. */
    public function after(): void
    {
        if ($this->done !== null) {
            $request = $this->done;
            $this->done = null;
            $this->site->after();
            Uploads::forget($request->files);
        }
    }

    /** From now on closes each connection after its answer. */
    public function over(): void
    {
        $this->over = true;
    }

    /** @internal called by PHP */
    public function exited(): void
    {
        if ($this->asked !== null && is_resource($this->connection)) {
            $response = self::last($this->site->ended());
            Http1::send($this->connection, $response, $this->asked->method);
        }
        Uploads::forget($this->asked->files ?? []);
    }

    private static function last(Response $response): Response
    {
        return $response->with('Connection', 'close');
    }
}
