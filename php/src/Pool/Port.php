<?php

declare(strict_types=1);

namespace Stampede\Worker\Pool;

use Stampede\Worker\Problem;
use Stampede\Worker\Setup;

/**
 * Opens a listening socket that processes share by inheriting it. There is one queue of
 * connections: any free process accepts the next, and waiting connections outlive a process. With
 * SO_REUSEPORT each process would have its own queue, filled by a hash of addresses. Then both of
 * two connections may go to the same process, and connections that wait for a process are reset
 * when it ends.
 */
final class Port
{
    /** Connections that may wait; the kernel's `somaxconn` may allow fewer. */
    private const BACKLOG = 4096;

    /**
     * @return resource accepted connections have TCP_NODELAY: without it, a server that writes an
     *     answer in two pieces waits 40 ms for the client's delayed acknowledgement
     * @throws Problem
     */
    public static function open(Setup $setup)
    {
        $context = stream_context_create(['socket' => [
            'backlog' => self::BACKLOG,
            'tcp_nodelay' => true,
        ]]);
        $flags = STREAM_SERVER_BIND | STREAM_SERVER_LISTEN;
        $address = self::address($setup);
        $socket = @stream_socket_server("tcp://$address", $code, $why, $flags, $context);
        if ($socket === false) {
            /** @var string $why */
            throw new Problem("nothing can listen at $address: $why");
        }
        stream_set_blocking($socket, false);

        return $socket;
    }

    /** Returns address and port, as in a URL. */
    public static function address(Setup $setup): string
    {
        $host = strpos($setup->host, ':') === false ? $setup->host : "[{$setup->host}]";

        return "$host:{$setup->port}";
    }
}
