<?php

declare(strict_types=1);

namespace Stampede\Worker;

/**
 * The answer that a client gets. Its body is `body` and then what `stream` writes, where there is
 * one: an answer that is made, or read from a file, while it is sent.
 */
final class Response
{
    /** The type that PHP gives to a page that names none. */
    public const DEFAULT_TYPE = 'text/html; charset=UTF-8';

    /**
     * @param array<string, list<string>> $headers
     * @param ?\Closure(\Closure(string): void): void $stream prints the rest of the body or gives it
     *     to its argument; it is called once, after the app has handled the request
     */
    public function __construct(
        public int $status = 200,
        public array $headers = [],
        public string $body = '',
        public ?\Closure $stream = null,
    ) {
    }

    /**
     * @template K of array-key
     * @param array<K, scalar|null|array<scalar|null>> $headers a value or a list of them by name
     * @return array<K, list<string>>
     */
    public static function normalizeHeaders(array $headers): array
    {
        return array_map(
            static fn (mixed $values): array => array_map('strval', array_values((array) $values)),
            $headers,
        );
    }

    /** Sets a header to one value, replacing all its other values. */
    public function setHeader(string $name, string $value): self
    {
        $response = $this->removeHeader($name);
        $response->headers[$name] = [$value];

        return $response;
    }

    /** Returns the first value of a header; null if there is no such header. */
    public function header(string $name): ?string
    {
        return array_change_key_case($this->headers)[strtolower($name)][0] ?? null;
    }

    /** Removes the headers that state the length, since the server states it again. */
    public function removeLengthHeaders(): self
    {
        return $this->removeHeader('Content-Length')->removeHeader('Transfer-Encoding');
    }

    private function removeHeader(string $name): self
    {
        foreach (array_keys($this->headers) as $known) {
            if (strcasecmp((string) $known, $name) === 0) {
                unset($this->headers[$known]);
            }
        }

        return $this;
    }

    /** Sets the type, if there is none; like PHP, it names the charset of a text that names none. */
    public function ensureType(string $type = self::DEFAULT_TYPE): self
    {
        $known = $this->header('Content-Type');
        if ($known === null && $this->status !== 304) {
            $this->headers['Content-Type'] = [$type];
        } elseif ($known !== null && str_starts_with($known, 'text/') && !str_contains($known, 'charset=')) {
            foreach (array_keys($this->headers) as $name) {
                if (strcasecmp((string) $name, 'Content-Type') === 0) {
                    $this->headers[$name] = [$known . ';charset=' . ini_get('default_charset')];
                }
            }
        }

        return $this;
    }
}
