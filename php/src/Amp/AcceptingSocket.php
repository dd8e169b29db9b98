<?php

declare(strict_types=1);

namespace Stampede\Worker\Amp;

use Amp\Cancellation;
use Amp\Socket\BindContext;
use Amp\Socket\ResourceSocket;
use Amp\Socket\ServerSocket;
use Amp\Socket\Socket;
use Amp\Socket\SocketAddress;
use Revolt\EventLoop;
use Revolt\EventLoop\Suspension;
use Stampede\Worker\Pool\AcceptPolicy;

/** Accepts connections from a socket that several processes share, taking turns with them. */
final class AcceptingSocket implements ServerSocket
{
    /** Seconds between two checks whether there is room for another connection. */
    private const POLL_SECONDS = 0.01;

    private SocketAddress $address;
    /** @var ?Suspension<mixed> what `accept` waits in, if it waits */
    private ?Suspension $waiting = null;
    private string $callback = '';
    /** @var list<\Closure(): void> */
    private array $onClose = [];

    /** @var ?resource null once it is closed */
    private $socket;

    /** @param resource $socket */
    public function __construct($socket, private \Countable $clients)
    {
        $this->socket = $socket;
        $this->address = SocketAddress\fromResourceLocal($socket);
    }

    /** Returns the next connection, or null when the socket is closed. Callers never cancel it. */
    public function accept(?Cancellation $cancellation = null): ?Socket
    {
        while ($this->socket !== null) {
            if (count($this->clients) >= AcceptPolicy::MAX_CONNECTIONS) {
                $this->waitFor(static fn ($resume) => EventLoop::delay(self::POLL_SECONDS, $resume));
                continue;
            }
            $this->waitFor(fn ($resume) => EventLoop::onReadable($this->socket, $resume));
            $wait = AcceptPolicy::delay(count($this->clients));
            $this->socket !== null && $wait > 0
                && $this->waitFor(static fn ($resume) => EventLoop::delay($wait, $resume));
            $stream = $this->socket ? @stream_socket_accept($this->socket, 0) : false;
            // If it is false, another process accepted the connection first.
            if ($stream !== false) {
                return ResourceSocket::fromServerSocket($stream);
            }
        }

        return null;
    }

    /** Ends the current wait at once. */
    public function stopWaiting(): void
    {
        EventLoop::cancel($this->callback);
        $waiting = $this->waiting;
        $this->waiting = null;
        $waiting?->resume();
    }

    public function close(): void
    {
        $socket = $this->socket;
        $this->socket = null;
        if ($socket !== null) {
            $this->stopWaiting();
            fclose($socket);
            array_map(EventLoop::queue(...), $this->onClose);
        }
    }

    public function isClosed(): bool
    {
        return $this->socket === null;
    }

    public function onClose(\Closure $onClose): void
    {
        $this->onClose[] = $onClose;
    }

    public function getAddress(): SocketAddress
    {
        return $this->address;
    }

    public function getBindContext(): BindContext
    {
        return new BindContext();
    }

    /**
     * @param \Closure(\Closure(): void): string $event arranges for its argument to be called;
     *     returns the callback's id
     */
    private function waitFor(\Closure $event): void
    {
        $suspension = $this->waiting = EventLoop::getSuspension();
        $this->callback = $event(fn () => $this->stopWaiting());
        $suspension->suspend();
    }
}
