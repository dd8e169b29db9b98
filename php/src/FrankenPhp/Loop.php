<?php

declare(strict_types=1);

namespace Stampede\Worker\FrankenPhp;

use Stampede\Worker\Response;
use Stampede\Worker\Site;

/**
 * Asks FrankenPHP for requests and answers them. Unlike other workers it is in a web server: PHP
 * itself has filled the superglobals, and `header()` and what is printed reach the client.
 */
final class Loop
{
    /** Of output buffers, outside of the answer that is under way. */
    private ?int $level = null;

    /** @param int $maxRequests after so many it ends; 0: never by itself */
    public function __construct(private Site $site, private int $maxRequests = 0)
    {
    }

    /**
     * Runs until FrankenPHP or `maxRequests` ends it; says how many requests it answered.
     *
     * @param callable(callable): bool $handle waits for a request and calls back with it; the
     *     answer is sent when it returns; false: FrankenPHP wants the worker to end
     * @param callable(): array<string, string> $headers of the request
     */
    public function run(callable $handle, callable $headers): int
    {
        register_shutdown_function(function (): void {
            $this->endedByApp();
        });
        $served = 0;
        while ($handle(fn () => $this->answer($headers()))) {
            $this->site->after();
            $served++;
            if ($served === $this->maxRequests) {
                break;
            }
        }

        return $served;
    }

    /** @param array<string, string> $headers */
    private function answer(array $headers): void
    {
        $this->level = ob_get_level();
        self::send($this->site->answer(Asked::now($headers)));
        $this->level = null;
    }

    /** An app that ended PHP, by `exit` or by an error that nobody can catch, is answered too. */
    private function endedByApp(): void
    {
        if ($this->level === null) {
            return;
        }
        while (ob_get_level() > $this->level && ob_end_flush()) {
        }
        // PHP itself has set the status.
        echo $this->site->output->taken();
    }

    private static function send(Response $response): void
    {
        // An app that calls `flush` has sent them.
        if (!headers_sent()) {
            self::head($response);
        }
        echo $response->body;
    }

    /** What the response says replaces what the app set by `header()`; cookies are added. */
    private static function head(Response $response): void
    {
        http_response_code($response->status);
        foreach ($response->headers as $name => $values) {
            if (self::isDefaultType((string) $name, $values) && self::hasType()) {
                continue;
            }
            $adds = strcasecmp((string) $name, 'Set-Cookie') === 0;
            foreach ($values as $at => $value) {
                header("$name: $value", $at === 0 && !$adds);
            }
        }
    }

    /** @param list<string> $values */
    private static function isDefaultType(string $name, array $values): bool
    {
        return strcasecmp($name, 'Content-Type') === 0 && $values === [Response::DEFAULT_TYPE];
    }

    private static function hasType(): bool
    {
        return preg_grep('/^Content-Type:/i', headers_list()) !== [];
    }
}
