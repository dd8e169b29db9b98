<?php

declare(strict_types=1);

namespace Stampede\Worker;

/** What a client asked, whatever runtime took it. */
final class Request
{
    /**
     * @param string $target path and query, as in the request line
     * @param array<string, list<string>> $headers by name as it came; `Host` among them
     * @param array<string, string> $cookies decoded
     * @param array<mixed> $form parsed, as in `$_POST`; empty where the body is something else
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

    /** The path, still encoded. */
    public function path(): string
    {
        return explode('?', $this->target, 2)[0];
    }

    /** What follows the question mark. */
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

    /** All values of a header in one line; null where there is none. */
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
     * `$_SERVER` as a web server would fill it.
     *
     * @param array<string, mixed> $base what is there for every request: the environment
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
            // RFC 3875, section 4.1.18: `Proxy` would name a proxy to programs that read it.
            if ($key !== 'HTTP_PROXY') {
                $server[$key] = $this->header((string) $name);
            }
        }

        return $server + ($this->scheme === 'https' ? ['HTTPS' => 'on'] : []) + $base;
    }

    /** @return array<mixed> the files as in `$_FILES`: the leaf's keys outside, the tree inside */
    public function phpFiles(): array
    {
        $turned = [];
        foreach ($this->files as $field => $tree) {
            foreach (['name', 'type', 'tmp_name', 'error', 'size'] as $key) {
                $turned[$field][$key] = self::pick((array) $tree, $key);
            }
        }

        return $turned;
    }

    /** Whether a node of the tree of files is a file. */
    public static function isFile(mixed $node): bool
    {
        return is_array($node) && is_string($node['tmp_name'] ?? null) && isset($node['error']);
    }

    /** @param array<mixed> $tree */
    private static function pick(array $tree, string $key): mixed
    {
        if (self::isFile($tree)) {
            return $tree[$key] ?? '';
        }

        return array_map(static fn (mixed $node): mixed => self::pick((array) $node, $key), $tree);
    }
}
