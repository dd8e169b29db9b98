<?php

declare(strict_types=1);

namespace Stampede\Worker;

/** Writes an answer in HTTP/1.1 to a connection, where the server can no longer do it. */
final class Http1
{
    /** Seconds that a client may take to read the answer. */
    private const SEND_SECONDS = 5;

    /** @param resource $connection is closed afterwards */
    public static function send($connection, Response $response, string $method): void
    {
        $bytes = self::bytes($response, $method);
        stream_set_blocking($connection, false);
        $until = microtime(true) + self::SEND_SECONDS;
        while ($bytes !== '' && microtime(true) < $until) {
            [$read, $write, $except] = [null, [$connection], null];
            $ready = @stream_select($read, $write, $except, 1);
            $sent = $ready ? @fwrite($connection, $bytes) : 0;
            if ($sent === false) {
                break;
            }
            $bytes = (string) substr($bytes, $sent);
        }
        fclose($connection);
    }

    public static function bytes(Response $response, string $method): string
    {
        $response = $response->removeLengthHeaders()->setHeader('Content-Length', (string) strlen($response->body));

        return self::head($response) . ($method === 'HEAD' ? '' : $response->body);
    }

    /** Returns the status line and the headers, with the empty line after them. */
    public static function head(Response $response): string
    {
        $bytes = "HTTP/1.1 {$response->status} \r\n";
        foreach ($response->headers as $name => $values) {
            foreach ($values as $value) {
                $bytes .= "$name: " . strtr($value, ["\r" => '', "\n" => '']) . "\r\n";
            }
        }

        return "$bytes\r\n";
    }
}
