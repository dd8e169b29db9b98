<?php

declare(strict_types=1);

namespace Stampede\Worker\RoadRunner;

use Stampede\Worker\Peer;
use Stampede\Worker\Request;
use Stampede\Worker\Response;

/** RoadRunner's own PHP packages, where the app's vendor folder has them. */
final class Spiral implements Peer
{
    private const HTTP = 'Spiral\RoadRunner\Http\HttpWorker';
    private const WORKER = 'Spiral\RoadRunner\Worker';

    /** @param object $worker has `waitRequest` and `respond` */
    public function __construct(private object $worker)
    {
    }

    /** Null where the packages are not there. */
    public static function found(): ?self
    {
        if (!class_exists(self::HTTP) || !class_exists(self::WORKER)) {
            return null;
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
