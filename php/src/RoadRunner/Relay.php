<?php

declare(strict_types=1);

namespace Stampede\Worker\RoadRunner;

use Stampede\Worker\Problem;

/** The channel between RoadRunner and a worker: standard streams or a socket. */
final class Relay
{
    /**
     * @param resource $in
     * @param resource $out
     */
    public function __construct(private $in, private $out)
    {
    }

    /** @param string $name as in RR_RELAY: `pipes`, `unix:///path`, `tcp://host:port` */
    public static function open(string $name): self
    {
        if ($name === '' || $name === 'pipes') {
            return new self(STDIN, STDOUT);
        }
        $socket = @stream_socket_client($name, $code, $why, 10);
        if ($socket === false) {
            /** @var string $why */
            throw new Problem("no connection to RoadRunner at `$name`: $why");
        }

        return new self($socket, $socket);
    }

    /** Returns the next frame; null: RoadRunner has closed the channel. */
    public function receive(): ?Frame
    {
        $begun = false;
        $closed = false;
        $read = function (int $length) use (&$begun, &$closed): string {
            $bytes = '';
            while (($left = $length - strlen($bytes)) > 0) {
                $more = fread($this->in, $left);
                if ($more === false || ($more === '' && feof($this->in))) {
                    $closed = !$begun && $bytes === '';
                    throw new Problem('RoadRunner closed the line in the middle of a frame');
                }
                $bytes .= $more;
            }
            $begun = true;

            return $bytes;
        };
        try {
            return Frame::read($read);
        } catch (Problem $problem) {
            return $closed ? null : throw $problem;
        }
    }

    /** Returns the next frame, if it begins within so many seconds. */
    public function receiveWithin(int $seconds): ?Frame
    {
        [$read, $write, $except] = [[$this->in], null, null];

        return @stream_select($read, $write, $except, $seconds) ? $this->receive() : null;
    }

    public function send(Frame $frame): void
    {
        $bytes = $frame->bytes();
        while ($bytes !== '') {
            $sent = @fwrite($this->out, $bytes);
            if ($sent === false || $sent === 0) {
                throw new Problem('RoadRunner closed the line while it was answered');
            }
            $bytes = (string) substr($bytes, $sent);
        }
        fflush($this->out);
    }
}
