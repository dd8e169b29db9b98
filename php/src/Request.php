<?php

declare(strict_types=1);

namespace Stampede\Worker;

/** A client's request, in one form for all runtimes. */
final class Request
{
    /**
     * @param string $target path and query, as in the request line
     * @param array<string, list<string>> $headers by name, spelled as received; includes `Host`
     * @param array<string, string> $cookies decoded
     * @param array<mixed> $form parsed, as in `$_POST`; empty if the body is no form
     * @param array<mixed> $files a tree whose leaves are name, type, size, error, tmp_name
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
    ) {
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
        parse_str($this->queryString(), $query);

        return $query;
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

    /**
     * Returns `$_SERVER` as a web server would fill it.
     *
     * @param array<string, mixed> $base entries of every request: the environment
     * @return array<string, mixed>
     */
    public function server(array $base, string $docroot, string $script): array
    {
        $host = $this->header('Host') ?? 'localhost';
        $port = parse_url("//$host", PHP_URL_PORT) ?: ($this->scheme === 'https' ? 443 : 80);
        $server = [
            'GATEWAY_INTERFACE' => 'CGI/1.1',
            'SERVER_PROTOCOL' => $this->protocol,
            'SERVER_NAME' => parse_url("//$host", PHP_URL_HOST) ?: 'localhost',
            'SERVER_PORT' => (string) $port,
            'REQUEST_SCHEME' => $this->scheme,
            'REQUEST_METHOD' => $this->method,
            'REQUEST_URI' => $this->target,
            'QUERY_STRING' => $this->queryString(),
            'DOCUMENT_ROOT' => $docroot,
            'SCRIPT_NAME' => $script,
            'SCRIPT_FILENAME' => $docroot . $script,
            'PHP_SELF' => $script,
            'REMOTE_ADDR' => $this->remoteAddr,
            'REQUEST_TIME' => time(),
            'REQUEST_TIME_FLOAT' => microtime(true),
        ];
        foreach (array_keys($this->headers) as $name) {
            $key = strtoupper(strtr((string) $name, '-', '_'));
            $key = in_array($key, ['CONTENT_TYPE', 'CONTENT_LENGTH'], true) ? $key : "HTTP_$key";
            // RFC 3875, section 4.1.18: programs would read a header `Proxy` as the name of a
            // proxy.
            if ($key !== 'HTTP_PROXY') {
                $server[$key] = $this->header((string) $name);
            }
        }

        return $server + ($this->scheme === 'https' ? ['HTTPS' => 'on'] : []) + $base;
    }

    /**
     * @return array<mixed> the files as in `$_FILES`: the keys of the leaf outermost, the tree
     *     inside
     */
    public function phpFiles(): array
    {
        $files = [];
        foreach ($this->files as $field => $tree) {
            foreach (['name', 'type', 'tmp_name', 'error', 'size'] as $key) {
                $files[$field][$key] = self::collect((array) $tree, $key);
            }
        }

        return $files;
    }

    /** Tells whether a node of the tree of files is a file. */
    public static function isFile(mixed $node): bool
    {
        return is_array($node) && is_string($node['tmp_name'] ?? null) && isset($node['error']);
    }

    /** @param array<mixed> $tree */
    private static function collect(array $tree, string $key): mixed
    {
        if (self::isFile($tree)) {
            return $tree[$key] ?? '';
        }

        return array_map(static fn (mixed $node): mixed => self::collect((array) $node, $key), $tree);
    }
}
