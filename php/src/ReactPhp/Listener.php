<?php

declare(strict_types=1);

namespace Stampede\Worker\ReactPhp;

use Evenement\EventEmitter;
use React\EventLoop\Loop;
use React\EventLoop\TimerInterface;
use React\Socket\Connection;
use React\Socket\ConnectionInterface;
use React\Socket\ServerInterface;
use Stampede\Worker\Pool\Turn;

/**
 * Accepts from a socket that several processes listen to, in turn with them. ReactPHP's own server
 * opens its socket itself.
 */
final class Listener extends EventEmitter implements ServerInterface
{
    /** @var array<string, ConnectionInterface> open ones, by the client's address */
    public array $open = [];
    /** @var array<string, true> those that have a request under way */
    private array $asking = [];

    /** Until it is its turn. */
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
        $full = count($this->open) >= Turn::MOST;
        $full || $this->socket === null || Loop::addReadStream($this->socket, function (): void {
            $this->pause();
            $this->wait = Loop::addTimer(Turn::wait(count($this->open)), fn () => $this->accept());
        });
    }

    public function pause(): void
    {
        $this->socket && Loop::removeReadStream($this->socket);
        $this->wait && Loop::cancelTimer($this->wait);
        $this->wait = null;
    }

    public function close(): void
    {
        $this->pause();
        $this->socket && fclose($this->socket);
        $this->socket = null;
    }

    /** The request that a client has under way is answered. */
    public function answered(string $client): void
    {
        unset($this->asking[$client]);
    }

    /** Closes those that have no request under way, when what is to be sent is sent. */
    public function dismiss(): void
    {
        foreach (array_diff_key($this->open, $this->asking) as $connection) {
            $connection->end();
        }
    }

    private function accept(): void
    {
        $this->pause();
        $stream = @stream_socket_accept($this->socket, 0, $client);
        // Else another process was quicker.
        if ($stream !== false) {
            $this->opened(new Connection($stream, Loop::get()), $client);
        }
        $this->resume();
    }

    private function opened(ConnectionInterface $connection, string $client): void
    {
        $this->open[$client] = $connection;
        $connection->on('data', function () use ($client): void {
            $this->asking[$client] = true;
        });
        $connection->on('close', function () use ($client): void {
            unset($this->open[$client], $this->asking[$client]);
            $this->emit('closed');
            if ($this->wait !== null && $this->open === []) {
                $this->accept();
            } elseif (count($this->open) === Turn::MOST - 1) {
                $this->resume();
            }
        });
        $this->emit('connection', [$connection]);
    }
}
