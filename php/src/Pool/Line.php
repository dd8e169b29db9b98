<?php

declare(strict_types=1);

namespace Stampede\Worker\Pool;

/** What a process of a pool tells its master. It closes when the other one is gone. */
final class Line
{
    /** It has booted, and takes connections. */
    private const READY = 'r';
    /** It takes no further ones, and ends soon. */
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

    /** Why it could not boot, or go on. */
    public function failed(string $why): void
    {
        @fwrite($this->stream, $why);
    }

    /** Reads what it has told since. */
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
