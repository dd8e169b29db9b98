<?php

declare(strict_types=1);

namespace Stampede\Worker;

/**
 * Sends an answer in HTTP/1.1 piece by piece to a connection that is closed afterwards: past a
 * server that could send it only after the app has given the process back.
 */
final class Http1Stream
{
    /** Seconds without progress after which the client is given up. */
    private const STALL_SECONDS = 60;

    /** How the body ends: by its length, in chunks, or with the connection. */
    private bool $inChunks;
    private bool $begun = false;
    private bool $lost = false;

    /** @param resource $connection */
    public function __construct(private $connection, private Response $response, private Request $request)
    {
        $hasLength = $response->header('Content-Length') !== null;
        $this->inChunks = !$hasLength && $request->protocol !== 'HTTP/1.0';
    }

    public function write(string $piece): void
    {
        $this->begin();
        if ($this->request->method !== 'HEAD' && $piece !== '') {
            $this->send($this->inChunks ? dechex(strlen($piece)) . "\r\n$piece\r\n" : $piece);
        }
    }

    /** Ends the body. The server closes the connection. */
    public function end(): void
    {
        $this->begin();
        $this->send($this->inChunks && $this->request->method !== 'HEAD' ? "0\r\n\r\n" : '');
    }

    private function begin(): void
    {
        if ($this->begun) {
            return;
        }
        $this->begun = true;
        stream_set_blocking($this->connection, false);
        $response = clone $this->response;
        if ($this->inChunks) {
            $response->setHeader('Transfer-Encoding', 'chunked');
        }
        $this->send(Http1::head($response->setHeader('Connection', 'close')));
    }

    private function send(string $bytes): void
    {
        $until = microtime(true) + self::STALL_SECONDS;
        while ($bytes !== '' && !$this->lost) {
            [$read, $write, $except] = [null, [$this->connection], null];
            $ready = @stream_select($read, $write, $except, 1);
            $sent = $ready ? @fwrite($this->connection, $bytes) : 0;
            $until = $sent > 0 ? microtime(true) + self::STALL_SECONDS : $until;
            $this->lost = $sent === false || microtime(true) > $until;
            $bytes = substr($bytes, (int) $sent);
        }
    }
}
