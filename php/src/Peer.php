<?php

declare(strict_types=1);

namespace Stampede\Worker;

/** The runtime's side: where requests come from and answers go to. */
interface Peer
{
    /** The next request; null: the runtime wants the worker to end. */
    public function next(): ?Request;

    /** Answers the request that `next` gave. */
    public function answer(Response $response): void;
}
