<?php

declare(strict_types=1);

namespace Stampede\Worker\Amp;

use Amp\Socket\BindContext;
use Amp\Socket\ResourceServerSocket;
use Amp\Socket\ServerSocket;
use Amp\Socket\ServerSocketFactory;
use Amp\Socket\SocketAddress;

/** A socket that several processes listen to; AMPHP would open one of its own. */
final class Listening implements ServerSocketFactory
{
    /** @param resource $socket */
    public function __construct(private $socket)
    {
    }

    public function listen(SocketAddress|string $address, ?BindContext $bindContext = null): ServerSocket
    {
        return new Taking(new ResourceServerSocket($this->socket, $bindContext ?? new BindContext()));
    }
}
