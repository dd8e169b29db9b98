<?php

// spiral/roadrunner-http 3, spiral/roadrunner-worker 3

namespace Spiral\RoadRunner {
    interface WorkerInterface
    {
        public function stop(): void;
    }

    class Worker implements WorkerInterface
    {
        public static function create(bool $interceptSideEffects = true): self
        {
        }

        public function stop(): void
        {
        }
    }
}

namespace Spiral\RoadRunner\Http {
    use Spiral\RoadRunner\WorkerInterface;

    final class Request
    {
        public readonly string $body;
    }

    class HttpWorker
    {
        public function __construct(WorkerInterface $worker)
        {
        }

        public function getWorker(): WorkerInterface
        {
        }

        public function waitRequest(): ?Request
        {
        }

        /** @param array<string, list<string>> $headers */
        public function respond(int $status, string $body = '', array $headers = [], bool $endOfStream = true): void
        {
        }
    }
}
