<?php

declare(strict_types=1);

namespace Stampede\Worker\Amp;

use Amp\Cancellation;
use Amp\Socket\BindContext;
use Amp\Socket\ServerSocket;
use Amp\Socket\Socket;
use Amp\Socket\SocketAddress;

use function Amp\delay;

/** Accepts one connection a turn of the loop: the next may be another process's. */
final class Taking implements ServerSocket
{
    public function __construct(private ServerSocket $socket)
    {
    }

    public function accept(?Cancellation $cancellation = null): ?Socket
    {
        delay(0);

        return $this->socket->accept($cancellation);
    }

    public function getAddress(): SocketAddress
    {
        return $this->socket->getAddress();
    }

    public function getBindContext(): BindContext
    {
        return $this->socket->getBindContext();
    }

    public function close(): void
    {
        $this->socket->close();
    }

    public function isClosed(): bool
    {
        return $this->socket->isClosed();
    }

    public function onClose(\Closure $onClose): void
    {
        $this->socket->onClose($onClose);
    }
}
