<?php

declare(strict_types=1);

namespace Stampede\Worker\ReactPhp;

use Evenement\EventEmitter;
use React\EventLoop\Loop;
use React\EventLoop\TimerInterface;
use React\Socket\Connection;
use React\Socket\ServerInterface;
use Stampede\Worker\Pool\AcceptPolicy;

/**
 * Accepts connections from a socket that several processes share, taking turns with them.
 * ReactPHP's own server opens a socket itself.
 */
final class Listener extends EventEmitter implements ServerInterface
{
    /** @var array<string, Connection> open connections, by the client's address */
    public array $open = [];
    /** @var array<string, true> addresses of clients with a request in flight */
    private array $inFlight = [];

    /** Runs while this process waits for its turn; null otherwise. */
    private ?TimerInterface $wait = null;

    /** @param ?resource $socket */
    public function __construct(private $socket)
    {
    }

    public function getAddress(): ?string
    {
        return $this->socket ? 'tcp://' . stream_socket_get_name($this->socket, false) : null;
    }

    public function resume(): void
    {
        $full = count($this->open) >= AcceptPolicy::MAX_CONNECTIONS;
        if ($full || $this->socket === null) {
            return;
        }
        Loop::addReadStream($this->socket, function (): void {
            $this->pause();
            $this->wait = Loop::addTimer(AcceptPolicy::delay(count($this->open)), fn () => $this->accept());
        });
    }

    public function pause(): void
    {
        if ($this->socket) {
            Loop::removeReadStream($this->socket);
        }
        if ($this->wait) {
            Loop::cancelTimer($this->wait);
        }
        $this->wait = null;
    }

    public function close(): void
    {
        $this->pause();
        if ($this->socket) {
            fclose($this->socket);
        }
        $this->socket = null;
    }

    /** Called when the client's request in flight has its answer. */
    public function markAnswered(string $client): void
    {
        unset($this->inFlight[$client]);
    }

    /** Closes connections without a request in flight, after their last bytes were sent. */
    public function closeIdle(): void
    {
        foreach (array_diff_key($this->open, $this->inFlight) as $connection) {
            $connection->end();
        }
    }

    private function accept(): void
    {
        $this->pause();
        $client = '';
        $stream = $this->socket ? @stream_socket_accept($this->socket, 0, $client) : false;
        // If it is false, another process accepted the connection first.
        if ($stream !== false) {
            /** @var string $client */
            $this->addConnection(new Connection($stream, Loop::get()), $client);
        }
        $this->resume();
    }

    private function addConnection(Connection $connection, string $client): void
    {
        $this->open[$client] = $connection;
        $connection->on('data', function () use ($client): void {
            $this->inFlight[$client] = true;
        });
        $connection->on('close', function () use ($client): void {
            unset($this->open[$client], $this->inFlight[$client]);
            $this->emit('closed');
            if ($this->wait !== null && $this->open === []) {
                $this->accept();
            } elseif (count($this->open) === AcceptPolicy::MAX_CONNECTIONS - 1) {
                $this->resume();
            }
        });
        $this->emit('connection', [$connection]);
    }
}
