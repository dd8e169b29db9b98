<?php

declare(strict_types=1);

namespace Stampede\Worker;

/** The answer that a client gets. */
final class Response
{
    /** The type that PHP gives to a page that names none. */
    public const DEFAULT_TYPE = 'text/html; charset=UTF-8';

    /** @param array<string, list<string>> $headers */
    public function __construct(
        public int $status = 200,
        public array $headers = [],
        public string $body = '',
    ) {
    }

    /**
     * @param array<string, mixed> $headers a value or a list of them by name
     * @return array<string, list<string>>
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

    /** Sets the type, if there is none. */
    public function ensureType(string $type = self::DEFAULT_TYPE): self
    {
        if (!array_key_exists('content-type', array_change_key_case($this->headers))) {
            $this->headers['Content-Type'] = [$type];
        }

        return $this;
    }
}
