<?php

declare(strict_types=1);

namespace Stampede\Worker\RoadRunner;

use Stampede\Worker\Peer;
use Stampede\Worker\Request;
use Stampede\Worker\Response;

/** Takes requests through RoadRunner's own PHP packages, if the app's vendor directory has them. */
final class Spiral implements Peer
{
    private const HTTP = 'Spiral\RoadRunner\Http\HttpWorker';
    private const WORKER = 'Spiral\RoadRunner\Worker';
    /**
     * A class of the packages that read both of RoadRunner's formats. Older ones read JSON only.
     */
    private const PROTOBUF = 'Google\Protobuf\Internal\Message';

    /** @param object $worker has `waitRequest` and `respond` */
    public function __construct(private object $worker)
    {
    }

    /** Returns null if the packages are missing or cannot read what RoadRunner 2025 sends. */
    public static function createIfAvailable(): ?self
    {
        foreach ([self::HTTP, self::WORKER, self::PROTOBUF] as $class) {
            if (!class_exists($class)) {
                return null;
            }
        }
        [$http, $worker] = [self::HTTP, self::WORKER];

        // `false`: no interception of output. What the app prints goes to the client here.
        return new self(new $http($worker::create(false)));
    }

    public function next(): ?Request
    {
        $spiralRequest = $this->worker->waitRequest();
        if ($spiralRequest === null) {
            return null;
        }

        return Message::buildRequest(get_object_vars($spiralRequest), (string) $spiralRequest->body);
    }

    public function answer(Response $response): void
    {
        $this->worker->respond($response->status, $response->body, $response->headers);
    }
}
