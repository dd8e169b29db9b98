<?php

declare(strict_types=1);

namespace Stampede\Worker\RoadRunner;

use Stampede\Worker\Peer;
use Stampede\Worker\Problem;
use Stampede\Worker\Request;
use Stampede\Worker\Response;

/** Speaks RoadRunner's protocol on the worker's side. */
final class Goridge implements Peer
{
    /** What a worker answers to a request that another worker has to get. */
    private const STOP = '{"stop":true}';
    /** Seconds that a process that ends waits for RoadRunner. */
    private const LEAVE_SECONDS = 1;

    private int $codec = Frame::PROTO;
    /** Whether the head of a streamed answer was sent. */
    private bool $begun = false;

    /** @param string $directory where uploaded files are stored */
    public function __construct(private Relay $relay, private string $directory)
    {
    }

    public function next(): ?Request
    {
        while (($frame = $this->relay->receive()) !== null) {
            if (($frame->flags & Frame::CONTROL) === 0) {
                // A frame without payload is about streams, and this worker has none.
                if ($frame->payload === '' && $frame->body === '') {
                    continue;
                }
                $this->codec = $frame->flags & (Frame::PROTO | Frame::JSON);

                return Message::request($frame, $this->directory);
            }
            $command = (array) json_decode($frame->payload, true);
            if (!empty($command['stop'])) {
                return null;
            }
            if (!isset($command['pid'])) {
                throw new Problem("RoadRunner gave an unknown command `{$frame->payload}`");
            }
            // RoadRunner's first question: over a socket it knows a worker by its pid only.
            $pid = json_encode(['pid' => getmypid()]);
            $this->relay->send(new Frame(Frame::CONTROL | Frame::JSON, (string) $pid));
        }

        return null;
    }

    public function answer(Response $response): void
    {
        $this->relay->send(Message::response($response, $this->codec));
    }

    public function sendPiece(Response $response, string $piece): void
    {
        $frame = $this->begun
            ? new Frame($this->codec, '', [0], body: $piece)
            : Message::response(new Response($response->status, $response->headers, $piece), $this->codec);
        $frame->streamBits = Frame::STREAM;
        $this->begun = true;
        $this->relay->send($frame);
    }

    public function endPieces(Response $response): void
    {
        $this->relay->send($this->begun
            ? new Frame($this->codec, '', [0])
            : Message::response(new Response($response->status, $response->headers), $this->codec));
        $this->begun = false;
    }

    public function leave(): void
    {
        $frame = $this->relay->receiveWithin(self::LEAVE_SECONDS);
        if ($frame !== null && ($frame->flags & Frame::CONTROL) === 0) {
            $this->relay->send(new Frame($this->codec, self::STOP, [strlen(self::STOP)]));
            // RoadRunner says in its turn that this process may end.
            $this->relay->receiveWithin(self::LEAVE_SECONDS);
        }
    }
}
