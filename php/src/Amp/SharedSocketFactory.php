<?php

declare(strict_types=1);

namespace Stampede\Worker\Amp;

use Amp\Socket\BindContext;
use Amp\Socket\ServerSocket;
use Amp\Socket\ServerSocketFactory;
use Amp\Socket\SocketAddress;

/** Serves AMPHP a socket that several processes listen to. AMPHP itself would open its own. */
final class SharedSocketFactory implements ServerSocketFactory
{
    public ?AcceptingSocket $accepting = null;

    /** @param resource $socket */
    public function __construct(private $socket, private \Countable $clients)
    {
    }

    public function listen(SocketAddress|string $address, ?BindContext $bindContext = null): ServerSocket
    {
        return $this->accepting = new AcceptingSocket($this->socket, $this->clients);
    }
}
