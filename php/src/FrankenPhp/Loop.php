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
    private bool $answering = false;
    private string|false $sessions;

    /** @param int $maxRequests after so many it ends; 0: never by itself */
    public function __construct(private Site $site, private int $maxRequests = 0)
    {
        $this->sessions = ini_get('session.save_handler');
    }

    /**
     * Runs until FrankenPHP or `maxRequests` ends it; says how many requests it answered.
     *
     * @param callable(callable): bool $handle waits for a request and calls back with it; false:
     *     FrankenPHP wants the worker to end
     * @param callable(): mixed $finish sends the answer
     * @param callable(): array<string, string> $headers of the request
     */
    public function run(callable $handle, callable $finish, callable $headers): int
    {
        $served = 0;
        $serve = function () use ($finish, $headers): void {
            $this->keepSessions();
            $this->answer($headers());
            $finish();
            // Here and not between requests: there is no output then, and `ob_start` would crash.
            $this->site->after();
        };
        while ($handle($serve)) {
            $served++;
            if ($served === $this->maxRequests) {
                break;
            }
        }

        return $served;
    }

    /**
     * Up to 1.4 FrankenPHP drops the handler that an app has set and leaves PHP set to ask it: no
     * session would begin any more. PHP-FPM begins each request with the one of php.ini.
     */
    private function keepSessions(): void
    {
        if ($this->sessions !== false && ini_get('session.save_handler') !== $this->sessions) {
            ini_set('session.save_handler', $this->sessions);
        }
    }

    /** @param array<string, string> $headers */
    private function answer(array $headers): void
    {
        $this->answering = true;
        $level = ob_get_level();
        ob_start([$this, 'out']);
        self::send($this->site->answer(Asked::now($headers)));
        $this->answering = false;
        // An app that sends what it prints at once may have ended this buffer with its own.
        ob_get_level() > $level && ob_end_flush();
    }

    /**
     * An app that ended PHP, by `exit` or by an error that nobody can catch, is answered too: by
     * what it printed. PHP itself has set the status.
     *
     * @internal for PHP
     */
    public function out(string $text): string
    {
        return $this->answering ? $text . $this->site->output->printed() : $text;
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
