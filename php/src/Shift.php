<?php

declare(strict_types=1);

namespace Stampede\Worker;

/**
 * The requests of one process whose server calls back for each. Whatever the server does at once,
 * the app has one at a time.
 */
final class Shift
{
    /** Bytes of a request's body that are taken, as php.ini's `post_max_size` says. */
    public const BODY = 50 << 20;
    /** Seconds that a client has to write once more on a connection that will be closed. */
    public const GRACE = 2;

    private int $served = 0;
    private bool $over = false;
    /** Answered, and not cleaned up after. */
    private ?Request $done = null;
    /** What the app is at. */
    private ?Request $asked = null;
    /** @var resource|null */
    private $connection = null;

    /**
     * @param int $maxRequests after so many it is over; 0: never
     * @param callable(): void $onOver takes no further connections, and ends when there are none
     */
    public function __construct(
        private Site $site,
        private int $maxRequests,
        private $onOver,
    ) {
    }

    /**
     * All that this process does, as the plan wants it.
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
     * @param resource|null $connection where a client is answered whose request ends PHP, by
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

    /** What is done after the answer was sent; at the latest before the next one. */
    public function after(): void
    {
        if ($this->done !== null) {
            $request = $this->done;
            $this->done = null;
            $this->site->after();
            Uploads::forget($request->files);
        }
    }

    /** From now on each connection is closed after its answer. */
    public function over(): void
    {
        $this->over = true;
    }

    /** @internal for PHP */
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
