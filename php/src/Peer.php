<?php

declare(strict_types=1);

namespace Stampede\Worker;

/** The runtime as a worker sees it: it gives requests and takes answers. */
interface Peer
{
    /** Returns the next request; null: the runtime wants the worker to end. */
    public function next(): ?Request;

    /** Answers the request that `next` returned. */
    public function answer(Response $response): void;

    /** Sends a piece of a body that is streamed; the answer's head goes with the first. */
    public function sendPiece(Response $response, string $piece): void;

    /** Ends an answer that is streamed. */
    public function endPieces(Response $response): void;

    /**
     * Called before the process ends by itself, after its last answer. The runtime does not know yet:
     * a request that it still gives to this process goes back to it, for another.
     */
    public function leave(): void;
}
