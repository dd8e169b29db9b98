<?php

declare(strict_types=1);

namespace Stampede\Worker;

/**
 * What the app prints. Under PHP-FPM it reaches the client; in a worker, standard output may be
 * the runtime's own line, which a single byte would break.
 */
final class Output
{
    /** Buffers that were begun and not ended, since somebody set this to 0. */
    public int $left = 0;
    private string $printed = '';
    /** How deep the guard's buffer is; 0: there is none. */
    private int $guard = 0;

    /** From now on nothing that is printed reaches standard output. For a whole worker. */
    public function guard(): void
    {
        // Cleanable as PHP's own outermost buffer, but not removable.
        $flags = PHP_OUTPUT_HANDLER_CLEANABLE | PHP_OUTPUT_HANDLER_FLUSHABLE;
        ob_start([$this, 'take'], 0, $flags);
        // Not always the first: php-cgi may have one of its own before it (`output_buffering`).
        $this->guard = ob_get_level();
    }

    /** Runs `$work` and gives what it printed, also where it throws, by `taken`. */
    public function during(callable $work): mixed
    {
        $this->printed = '';
        $level = ob_get_level();
        ob_start([$this, 'take']);
        try {
            return $work();
        } finally {
            $this->left += max(0, ob_get_level() - $level - 1);
            $this->drain($level);
        }
    }

    /** What was printed since the last call. */
    public function taken(): string
    {
        $this->drain($this->guard ?: ob_get_level());
        $printed = $this->printed;
        $this->printed = '';

        return $printed;
    }

    /** What was printed and is in no buffer of PHP's any more; it stays. */
    public function printed(): string
    {
        return $this->printed;
    }

    /** @internal for PHP */
    public function take(string $text): string
    {
        $this->printed .= $text;

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
