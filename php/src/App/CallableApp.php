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
 *
 * @phpstan-type Answer array{
 *     status: int|numeric-string,
 *     headers?: array<string, scalar|null|array<scalar|null>>,
 *     body?: scalar|\Stringable|null|iterable<scalar|\Stringable|null>,
 * }
 */
final class CallableApp implements App
{
    /** @var callable(array<mixed>, string): mixed */
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
        /** @var Answer $answer a wrong type in it is an error of PHP, as it would be in the app */
        $headers = Response::normalizeHeaders($answer['headers'] ?? []);

        return new Response((int) $answer['status'], $headers, self::body($answer), self::stream($answer));
    }

    public function terminate(): void
    {
    }

    /** @param Answer $answer */
    private static function body(array $answer): string
    {
        $body = $answer['body'] ?? '';

        return is_iterable($body) ? '' : (string) $body;
    }

    /** @param Answer $answer whose body is streamed if it comes in pieces */
    private static function stream(array $answer): ?\Closure
    {
        $body = $answer['body'] ?? '';

        return !is_iterable($body) ? null : static function (\Closure $send) use ($body): void {
            /** @var scalar|\Stringable|null $piece */
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
