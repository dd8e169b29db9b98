<?php

declare(strict_types=1);

namespace Stampede\Worker\Pool;

/**
 * The channel from a process of a pool to its master. Each side sees it close when the other is gone.
 */
final class MasterChannel
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

    public function sendReady(): void
    {
        @fwrite($this->stream, self::READY);
    }

    public function sendLeaving(): void
    {
        @fwrite($this->stream, self::LEAVING);
    }

    /** Sends why the process could not boot or could not go on. */
    public function sendFailure(string $why): void
    {
        @fwrite($this->stream, $why);
    }

    /** Reads what the process has sent since the last call. */
    public function receive(Child $child): void
    {
        $bytes = (string) @fread($this->stream, 1 << 16);
        if (!$child->ready && ($bytes[0] ?? '') === self::READY) {
            $child->ready = true;
            $bytes = substr($bytes, 1);
        }
        if ($child->ready && ($bytes[0] ?? '') === self::LEAVING) {
            $child->leaving = true;
            $bytes = substr($bytes, 1);
        }
        $child->failure .= $bytes;
    }
}
