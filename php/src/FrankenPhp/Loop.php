<?php

declare(strict_types=1);

namespace Stampede\Worker\FrankenPhp;

use Stampede\Worker\Response;
use Stampede\Worker\Site;

/**
 * Takes requests from FrankenPHP and answers them. Unlike other workers it runs inside a web
 * server: PHP fills the superglobals, and `header()` and printed output reach the client.
 */
final class Loop
{
    private bool $answering = false;
    private string|false $sessions;

    /** @param int $maxRequests the loop ends after so many; 0: no limit */
    public function __construct(private Site $site, private int $maxRequests = 0)
    {
        $this->sessions = ini_get('session.save_handler');
    }

    /**
     * Runs until FrankenPHP or `maxRequests` ends it; returns how many requests it answered.
     *
     * @param callable(callable): bool $handle waits for a request and calls its argument with it;
     *     false: FrankenPHP wants the worker to end
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
            // It runs here and not between requests: without output, `ob_start` would crash there.
            $this->site->cleanUp();
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
     * Up to 1.4, FrankenPHP drops the session handler that an app has set, but PHP still asks for
     * it: no session would begin any more. PHP-FPM begins each request with the handler of php.ini.
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
        ob_start([$this, 'filterOutput']);
        $response = $this->site->answer(RequestFactory::fromSuperglobals($headers));
        self::send($response);
        $this->answering = false;
        // An app that flushes its output at once may have ended this buffer together with its own.
        if (ob_get_level() > $level) {
            ob_end_flush();
        }
        // What is printed now goes to the client by itself.
        $this->site->print($response);
    }

    /**
     * Also answers an app that ended PHP, by `exit` or by an error that nobody can catch: the
     * client gets what it printed. PHP itself has set the status.
     *
     * @internal called by PHP
     */
    public function filterOutput(string $text): string
    {
        return $this->answering ? $text . $this->site->output->printed() : $text;
    }

    private static function send(Response $response): void
    {
        // If the app called `flush`, they are already sent.
        if (!headers_sent()) {
            self::sendHeaders($response);
        }
        echo $response->body;
    }

    /** The response's headers replace what the app set by `header()`; cookies are added. */
    private static function sendHeaders(Response $response): void
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
