<?php

declare(strict_types=1);

namespace Stampede\Worker;

/** What the client gets. */
final class Response
{
    /** What PHP says of a page that says nothing of itself. */
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
    public static function listed(array $headers): array
    {
        return array_map(
            static fn (mixed $values): array => array_map('strval', array_values((array) $values)),
            $headers,
        );
    }

    /** The same with one value of a header, and no other of it. */
    public function with(string $name, string $value): self
    {
        $response = $this->without($name);
        $response->headers[$name] = [$value];

        return $response;
    }

    /** The same without what says how long it is, which its server says again. */
    public function framed(): self
    {
        return $this->without('Content-Length')->without('Transfer-Encoding');
    }

    private function without(string $name): self
    {
        foreach (array_keys($this->headers) as $known) {
            if (strcasecmp((string) $known, $name) === 0) {
                unset($this->headers[$known]);
            }
        }

        return $this;
    }

    /** The same with a type, where it had none. */
    public function typed(string $type = self::DEFAULT_TYPE): self
    {
        if (!array_key_exists('content-type', array_change_key_case($this->headers))) {
            $this->headers['Content-Type'] = [$type];
        }

        return $this;
    }
}
