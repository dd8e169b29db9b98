<?php

declare(strict_types=1);

namespace Stampede\Worker\App;

use Stampede\Worker\App;
use Stampede\Worker\AppRequirements;
use Stampede\Worker\Problem;
use Stampede\Worker\Request;
use Stampede\Worker\Response;

/**
 * An app whose `handler.php` returns a closure. The closure takes `$_SERVER` and the body, and
 * returns status, headers and body.
 */
final class CallableApp implements App
{
    /** @var callable(array<string, mixed>, string): array<string, mixed> */
    private $handler;

    public function __construct(private string $file)
    {
    }

    public static function adapters(): array
    {
        return [];
    }

    public function handle(Request $request): Response
    {
        $answer = ($this->handler)($_SERVER, $request->body);
        if (!is_array($answer) || !isset($answer['status'])) {
            throw new Problem("`{$this->file}` answers no status, headers and body");
        }
        $headers = Response::normalizeHeaders($answer['headers'] ?? []);

        return new Response((int) $answer['status'], $headers, self::body($answer), self::stream($answer));
    }

    public function terminate(): void
    {
    }

    /** @param array<string, mixed> $answer */
    private static function body(array $answer): string
    {
        $body = $answer['body'] ?? '';

        return is_iterable($body) ? '' : (string) $body;
    }

    /** @param array<string, mixed> $answer whose body is streamed if it comes in pieces */
    private static function stream(array $answer): ?\Closure
    {
        $body = $answer['body'] ?? '';

        return !is_iterable($body) ? null : static function (\Closure $send) use ($body): void {
            foreach ($body as $piece) {
                $send((string) $piece);
            }
        };
    }

    public function reboot(): void
    {
        $handler = AppRequirements::loadFile($this->file, 'an app of kind `callable`');
        if (!is_callable($handler)) {
            throw new Problem("`{$this->file}` returns nothing that can be called");
        }
        $this->handler = $handler;
    }
}
