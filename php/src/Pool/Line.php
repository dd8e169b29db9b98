<?php

declare(strict_types=1);

namespace Stampede\Worker\Pool;

/**
 * The line from a process of a pool to its master. Each side sees it close when the other is gone.
 */
final class Line
{
    /** The process has booted and accepts connections. */
    private const READY = 'r';
    /** The process accepts no further connections and ends soon. */
    private const LEAVING = 'l';

    /** @param resource $stream */
    public function __construct(public $stream)
    {
        stream_set_blocking($stream, false);
    }

    public function ready(): void
    {
        @fwrite($this->stream, self::READY);
    }

    public function leaving(): void
    {
        @fwrite($this->stream, self::LEAVING);
    }

    /** Sends why the process could not boot or could not go on. */
    public function failed(string $why): void
    {
        @fwrite($this->stream, $why);
    }

    /** Reads what the process has sent since the last call. */
    public function told(Child $child): void
    {
        $told = (string) @fread($this->stream, 1 << 16);
        if (!$child->ready && ($told[0] ?? '') === self::READY) {
            $child->ready = true;
            $told = substr($told, 1);
        }
        if ($child->ready && ($told[0] ?? '') === self::LEAVING) {
            $child->leaving = true;
            $told = substr($told, 1);
        }
        $child->why .= $told;
    }
}
