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
    private int $codec = Frame::PROTO;

    public function __construct(private Relay $relay)
    {
    }

    public function next(): ?Request
    {
        while (($frame = $this->relay->receive()) !== null) {
            if (($frame->flags & Frame::CONTROL) === 0) {
                // A frame without payload is about streams, and this worker has none.
                if ($frame->payload === '') {
                    continue;
                }
                $this->codec = $frame->flags & (Frame::PROTO | Frame::JSON);

                return Message::request($frame);
            }
            $command = json_decode($frame->payload, true);
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
}
