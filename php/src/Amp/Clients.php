<?php

declare(strict_types=1);

namespace Stampede\Worker\Amp;

use Amp\Http\Server\Driver\Client;
use Amp\Http\Server\Driver\ClientFactory;
use Amp\Socket\ResourceSocket;
use Amp\Socket\Socket;

/** Creates AMPHP's clients and keeps a list of those whose connections are open. */
final class Clients implements ClientFactory, \Countable
{
    /** @var array<int, array{Client, ?resource}> by the client's number */
    private array $open = [];

    /** @var \Closure(): void called when the last open connection has closed */
    public \Closure $onEmpty;

    public function __construct(private ClientFactory $factory)
    {
    }

    public function createClient(Socket $socket): ?Client
    {
        $client = $this->factory->createClient($socket);
        if ($client !== null) {
            $id = $client->getId();
            $stream = $socket instanceof ResourceSocket ? $socket->getResource() : null;
            $this->open[$id] = [$client, is_resource($stream) ? $stream : null];
            $client->onClose(function () use ($id): void {
                unset($this->open[$id]);
                if ($this->open === []) {
                    ($this->onEmpty)();
                }
            });
        }

        return $client;
    }

    public function count(): int
    {
        return count($this->open);
    }

    /** @return ?resource */
    public function getStream(Client $client)
    {
        return $this->open[$client->getId()][1] ?? null;
    }

    /** @param array<int, mixed> $kept clients that stay open, keyed by their number */
    public function closeExcept(array $kept): void
    {
        foreach (array_diff_key($this->open, $kept) as [$client]) {
            $client->close();
        }
    }
}
