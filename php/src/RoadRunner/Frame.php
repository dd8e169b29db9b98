<?php

declare(strict_types=1);

namespace Stampede\Worker\RoadRunner;

use Stampede\Worker\Problem;

/**
 * A frame of goridge, version 1: twelve bytes of header, options of four bytes each, a payload.
 *
 * Header: version and its own length in words (4 bits each), flags, length of the payload (4
 * bytes), CRC-32 of these six bytes (4), stream bits, a spare byte. Little-endian throughout. The
 * first option of a message is the length of its context; what follows is a body.
 */
final class Frame
{
    public const CONTROL = 0x01;
    public const JSON = 0x08;
    public const ERROR = 0x40;
    public const PROTO = 0x80;
    /** A stream bit: more frames belong to this answer. */
    public const STREAM = 0x01;
    /** Bytes of a header without options. */
    public const HEADER = 12;
    private const VERSION = 1;

    /**
     * @param string $payload of a frame that was read: the context alone
     * @param list<int> $options
     * @param string $body what follows the context; apart, so that an upload is in memory once
     */
    public function __construct(
        public int $flags,
        public string $payload,
        public array $options = [],
        public int $streamBits = 0,
        public string $body = '',
    ) {
    }

    public function bytes(): string
    {
        $words = self::HEADER / 4 + count($this->options);
        $begin = pack('CCV', self::VERSION << 4 | $words, $this->flags, strlen($this->payload) + strlen($this->body));

        return $begin . pack('V', crc32($begin)) . chr($this->streamBits) . "\0" . pack('V*', ...$this->options)
            . $this->payload . $this->body;
    }

    /**
     * @param callable(int): string $read returns exactly that many bytes
     * @throws Problem if the bytes are no frame
     */
    public static function read(callable $read): self
    {
        $header = $read(self::HEADER);
        $words = ord($header[0]) & 0x0F;
        $whole = pack('V', crc32(substr($header, 0, 6))) === substr($header, 6, 4);
        if (!$whole || ord($header[0]) >> 4 !== self::VERSION || $words < self::HEADER / 4) {
            throw new Problem('what RoadRunner sent is no frame of goridge: ' . bin2hex($header));
        }
        /** @var list<int> $options */
        $options = $words > 3 ? array_values((array) unpack('V*', $read(4 * $words - self::HEADER))) : [];
        /** @var array{1: int} $fields */
        $fields = unpack('V', $header, 2);
        $length = $fields[1];
        $context = min($length, $options[0] ?? $length);

        return new self(
            ord($header[1]),
            $context > 0 ? $read($context) : '',
            $options,
            ord($header[10]),
            $length > $context ? $read($length - $context) : '',
        );
    }
}
