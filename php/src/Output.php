<?php

declare(strict_types=1);

namespace Stampede\Worker;

/**
 * Captures what the app prints. Under PHP-FPM it reaches the client. In a worker, standard output
 * may be the runtime's own channel, which a single byte would break.
 */
final class Output
{
    /** Bytes after which a streamed answer leaves: `output_buffering` of php.ini. */
    private const PIECE = 4096;

    /** Number of buffers that the app began and did not end, since this was last set to 0. */
    public int $unclosed = 0;
    private string $printed = '';
    /** @var (\Closure(string): void)|null takes what is printed; null: it is kept */
    private ?\Closure $sink = null;
    /** The nesting level of the guard's buffer; 0: there is no guard. */
    private int $guard = 0;

    /**
     * Keeps everything printed from now on away from standard output, for the worker's whole life.
     */
    public function guard(): void
    {
        // Like PHP's own outermost buffer, it can be cleaned but not removed.
        $flags = PHP_OUTPUT_HANDLER_CLEANABLE | PHP_OUTPUT_HANDLER_FLUSHABLE;
        ob_start([$this, 'append'], 0, $flags);
        // It is not always 1: php-cgi may already have a buffer of its own (`output_buffering`).
        $this->guard = ob_get_level();
    }

    /**
     * Runs `$work`. What it prints is then returned by `takePrinted`, even if it throws.
     *
     * @template T
     * @param callable(): T $work
     * @return T
     */
    public function capture(callable $work): mixed
    {
        $this->printed = '';
        $level = ob_get_level();
        ob_start([$this, 'append']);
        try {
            return $work();
        } finally {
            $this->unclosed += max(0, ob_get_level() - $level - 1);
            $this->drain($level);
        }
    }

    /**
     * Runs `$work`. What it prints goes to `$sink` in pieces, as soon as it would leave PHP under
     * PHP-FPM: when it is long, or when the app flushes it. What it gives to its argument goes there
     * at once, after what was printed before.
     *
     * @param \Closure(string): void $sink
     * @param callable(\Closure(string): void): void $work
     */
    public function pass(\Closure $sink, callable $work): void
    {
        $level = ob_get_level();
        $this->sink = $sink;
        ob_start([$this, 'append'], self::PIECE);
        try {
            $work(static function (string $piece) use ($sink, $level): void {
                if (ob_get_level() === $level + 1) {
                    ob_flush();
                }
                $sink($piece);
            });
        } finally {
            $this->drain($level);
            $this->sink = null;
        }
    }

    /** Returns what was printed since the last call, and forgets it. */
    public function takePrinted(): string
    {
        $this->drain($this->guard ?: ob_get_level());
        $printed = $this->printed;
        $this->printed = '';

        return $printed;
    }

    /** Returns what was printed and has left PHP's buffers, without forgetting it. */
    public function printed(): string
    {
        return $this->printed;
    }

    /** @internal called by PHP */
    public function append(string $text): string
    {
        if ($this->sink === null) {
            $this->printed .= $text;
        } elseif ($text !== '') {
            ($this->sink)($text);
        }

        return '';
    }

    private function drain(int $level): void
    {
        while (ob_get_level() > $level && ob_end_flush()) {
        }
        if ($this->guard > 0 && ob_get_level() >= $this->guard) {
            ob_flush();
        }
    }
}
