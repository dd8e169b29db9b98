<?php

declare(strict_types=1);

namespace Stampede\Worker;

/** A client's request, in one form for all runtimes. */
final class Request
{
    /**
     * @param string $target path and query, as in the request line
     * @param array<string, list<string>> $headers by name, spelled as received; includes `Host`
     * @param array<mixed> $cookies as in `$_COOKIE`
     * @param array<mixed> $form parsed, as in `$_POST`; empty if the body is no form
     * @param array<mixed> $files a tree whose leaves are those of `Uploads::LEAF`
     * @param ?int $bodyBytes the body's length, where it is no longer there; null: as `body` has
     */
    public function __construct(
        public string $method = 'GET',
        public string $target = '/',
        public array $headers = [],
        public string $body = '',
        public array $cookies = [],
        public array $form = [],
        public array $files = [],
        public string $protocol = 'HTTP/1.1',
        public string $remoteAddr = '127.0.0.1',
        public string $scheme = 'http',
        public int $remotePort = 0,
        public string $serverAddr = '127.0.0.1',
        public ?int $bodyBytes = null,
    ) {
    }

    /** Returns how many bytes the client sent as body, although a form is no body any more. */
    public function bodyBytes(): int
    {
        return $this->bodyBytes ?? strlen($this->body);
    }

    /** Returns the path, still percent-encoded. */
    public function path(): string
    {
        return explode('?', $this->target, 2)[0];
    }

    /** Returns what follows the question mark. */
    public function queryString(): string
    {
        return explode('?', $this->target, 2)[1] ?? '';
    }

    /** @return array<mixed> as in `$_GET` */
    public function query(): array
    {
        return Query::parse($this->queryString());
    }

    /** Returns all values of a header in one line; null if there is no such header. */
    public function header(string $name): ?string
    {
        foreach ($this->headers as $known => $values) {
            if (strcasecmp((string) $known, $name) === 0) {
                return implode(strcasecmp($name, 'Cookie') === 0 ? '; ' : ', ', $values);
            }
        }

        return null;
    }
}
