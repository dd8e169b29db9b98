<?php

declare(strict_types=1);

namespace Stampede\Worker\RoadRunner;

use Stampede\Worker\Peer;
use Stampede\Worker\Request;
use Stampede\Worker\Response;

/** RoadRunner's own PHP packages, where the app's vendor directory has them. */
final class Spiral implements Peer
{
    private const HTTP = 'Spiral\RoadRunner\Http\HttpWorker';
    private const WORKER = 'Spiral\RoadRunner\Worker';
    /** Which the packages have that read both of RoadRunner's formats; older ones know JSON. */
    private const PROTOBUF = 'Google\Protobuf\Internal\Message';

    /** @param object $worker has `waitRequest` and `respond` */
    public function __construct(private object $worker)
    {
    }

    /** Null where the packages are not there, or would not read what RoadRunner 2025 sends. */
    public static function found(): ?self
    {
        foreach ([self::HTTP, self::WORKER, self::PROTOBUF] as $class) {
            if (!class_exists($class)) {
                return null;
            }
        }
        [$http, $worker] = [self::HTTP, self::WORKER];

        // Without its interception of output: what the app prints goes to the client here.
        return new self(new $http($worker::create(false)));
    }

    public function next(): ?Request
    {
        $asked = $this->worker->waitRequest();
        if ($asked === null) {
            return null;
        }

        return Message::asked(get_object_vars($asked), (string) $asked->body);
    }

    public function answer(Response $response): void
    {
        $this->worker->respond($response->status, $response->body, $response->headers);
    }
}
