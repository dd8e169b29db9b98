<?php

declare(strict_types=1);

namespace Stampede\Worker\RoadRunner;

use Stampede\Worker\Peer;
use Stampede\Worker\Request;
use Stampede\Worker\Response;

/**
 * Takes requests through RoadRunner's own PHP packages, if the app's vendor directory has them.
 *
 * @phpstan-import-type Fields from Message
 */
final class Spiral implements Peer
{
    private const HTTP = 'Spiral\RoadRunner\Http\HttpWorker';
    private const WORKER = 'Spiral\RoadRunner\Worker';
    /**
     * A class of the packages that read both of RoadRunner's formats. Older ones read JSON only.
     */
    private const PROTOBUF = 'Google\Protobuf\Internal\Message';

    /** Whether the head of a streamed answer was sent. */
    private bool $begun = false;

    /**
     * @param \Spiral\RoadRunner\Http\HttpWorker $worker
     * @param string $directory where uploaded files are stored
     */
    public function __construct(private object $worker, private string $directory)
    {
    }

    /** Returns null if the packages are missing or cannot read what RoadRunner 2025 sends. */
    public static function createIfAvailable(string $directory): ?self
    {
        foreach ([self::HTTP, self::WORKER, self::PROTOBUF] as $class) {
            if (!class_exists($class)) {
                return null;
            }
        }
        [$http, $worker] = [self::HTTP, self::WORKER];

        // `false`: no interception of output. What the app prints goes to the client here.
        return new self(new $http($worker::create(false)), $directory);
    }

    public function next(): ?Request
    {
        $spiralRequest = $this->worker->waitRequest();
        if ($spiralRequest === null) {
            return null;
        }
        /** @var Fields $fields */
        $fields = get_object_vars($spiralRequest);

        return Message::buildRequest($fields, $this->directory, (string) $spiralRequest->body);
    }

    public function answer(Response $response): void
    {
        $this->worker->respond($response->status, $response->body, $response->headers);
    }

    public function sendPiece(Response $response, string $piece): void
    {
        $this->respond($response, $piece, false);
        $this->begun = true;
    }

    public function endPieces(Response $response): void
    {
        $this->respond($response, '', true);
        $this->begun = false;
    }

    public function leave(): void
    {
        if ($this->worker->waitRequest() !== null) {
            $this->worker->getWorker()->stop();
            $this->worker->waitRequest();
        }
    }

    private function respond(Response $response, string $piece, bool $isLast): void
    {
        $this->worker->respond($response->status, $piece, $this->begun ? [] : $response->headers, $isLast);
    }
}
