<?php

declare(strict_types=1);

namespace Stampede\Worker\Tests;

/** A stream that returns its parts one by one, whatever length the reader asks for. */
final class ChunkedStream
{
    /** @var resource */
    public $context;
    /** @var list<string> */
    private static array $next = [];
    /** @var list<string> */
    private array $parts = [];

    /**
     * @param list<string> $parts
     * @return resource
     */
    public static function open(array $parts)
    {
        self::$next = $parts;
        in_array('chunked', stream_get_wrappers(), true) || stream_wrapper_register('chunked', self::class);

        return fopen('chunked://', 'r');
    }

    public function stream_open(): bool
    {
        $this->parts = array_values(array_filter(self::$next, static fn ($part) => $part !== ''));

        return true;
    }

    public function stream_read(int $length): string
    {
        $part = (string) array_shift($this->parts);
        if (strlen($part) > $length) {
            array_unshift($this->parts, substr($part, $length));
        }

        return substr($part, 0, $length);
    }

    public function stream_eof(): bool
    {
        return $this->parts === [];
    }
}
