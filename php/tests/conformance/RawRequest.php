<?php

declare(strict_types=1);

namespace Stampede\Worker\Tests\Conformance;

use Stampede\Worker\Form;
use Stampede\Worker\Request;

/** A request as a client sends it: lines of a head, and a body that may come in chunks. */
final class RawRequest
{
    /**
     * @param list<string> $head the request line and the headers
     * @param ?list<string> $chunks pieces of a chunked body; null: `body` has it
     * @param bool $ends whether the app ends PHP in this request
     */
    public function __construct(
        public string $name,
        public array $head,
        public string $body = '',
        public ?array $chunks = null,
        public bool $ends = false,
    ) {
        $this->body = $chunks === null ? $body : implode('', $chunks);
        $known = strtolower(implode("\n", $head));
        str_contains($known, "\nhost:") || array_splice($this->head, 1, 0, ['Host: localhost']);
        str_contains($known, "\nconnection:") || $this->head[] = 'Connection: close';
        if ($this->body !== '' && $chunks === null && !str_contains($known, "\ncontent-length:")) {
            $this->head[] = 'Content-Length: ' . strlen($this->body);
        }
    }

    /**
     * Reads the corpus, which the tests of real runtimes read too.
     *
     * @return array{array<string, string>, array<string, self>} entries of php.ini; requests by name
     */
    public static function corpus(): array
    {
        $text = (string) file_get_contents(__DIR__ . '/requests.json');
        $corpus = json_decode($text, true, 16, JSON_THROW_ON_ERROR);
        $requests = [];
        // What is raw is about HTTP, which our library does not speak.
        $entries = array_filter($corpus['requests'], static fn (array $entry): bool => !($entry['raw'] ?? false));
        foreach ($entries as $entry) {
            $chunks = isset($entry['chunks']) ? array_map([self::class, 'bytes'], $entry['chunks']) : null;
            $head = array_map(static fn (string $line): string => self::bytes([$line]), $entry['head']);
            $body = self::bytes($entry['body'] ?? []);
            $requests[$entry['name']] = new self($entry['name'], $head, $body, $chunks, $entry['ends'] ?? false);
        }

        return [$corpus['php_ini'], $requests];
    }

    public function method(): string
    {
        return explode(' ', $this->head[0])[0];
    }

    /** Returns the request as our library gets it from a server that parses nothing but HTTP. */
    public function request(string $directory): Request
    {
        [$method, $target, $protocol] = explode(' ', $this->head[0]);
        $request = new Request($method, $target, $this->headers(), protocol: $protocol, remotePort: 4711);
        Form::parse($request, $directory, $this->body);

        return $request;
    }

    /**
     * Returns the parameters by which nginx hands the request to PHP.
     *
     * @return array<string, string>
     */
    public function parameters(string $docroot): array
    {
        [$method, $target, $protocol] = explode(' ', $this->head[0]);
        [$path, $query] = explode('?', $target, 2) + ['', ''];
        $found = preg_match('~^(.+?\.php)(/.*)?$~', rawurldecode($path), $parts);
        [$script, $pathInfo] = $found === 1 ? [$parts[1], $parts[2] ?? ''] : ['/index.php', ''];
        $parameters = [];
        foreach ($this->headers() as $name => $values) {
            // nginx drops names with other characters.
            if (preg_match('/^[A-Za-z0-9-]+$/D', (string) $name) !== 1) {
                continue;
            }
            $glue = strtolower((string) $name) === 'cookie' ? '; ' : ', ';
            $parameters['HTTP_' . strtoupper(strtr((string) $name, '-', '_'))] = implode($glue, $values);
        }
        $host = preg_replace('~\.?(:\d+)?$~', '', strtolower($parameters['HTTP_HOST']));
        $hasPort = preg_match('~:(\d+)$~', $parameters['HTTP_HOST'], $port);
        unset($parameters['HTTP_PROXY']);
        $parameters += $pathInfo === '' ? [] : ['PATH_INFO' => $pathInfo];

        return $parameters + [
            'SCRIPT_FILENAME' => $docroot . $script, 'SCRIPT_NAME' => $script,
            'DOCUMENT_ROOT' => $docroot, 'DOCUMENT_URI' => $script, 'REQUEST_URI' => $target,
            'QUERY_STRING' => $query, 'REQUEST_METHOD' => $method, 'REQUEST_SCHEME' => 'http',
            'CONTENT_TYPE' => $parameters['HTTP_CONTENT_TYPE'] ?? '',
            'CONTENT_LENGTH' => $parameters['HTTP_CONTENT_LENGTH']
                ?? ($this->body === '' && $this->chunks === null ? '' : (string) strlen($this->body)),
            'SERVER_PROTOCOL' => $protocol, 'SERVER_SOFTWARE' => 'nginx', 'GATEWAY_INTERFACE' => 'CGI/1.1',
            'REMOTE_ADDR' => '127.0.0.1', 'REMOTE_PORT' => '4711', 'SERVER_ADDR' => '127.0.0.1',
            'SERVER_PORT' => $hasPort === 1 ? $port[1] : '80', 'SERVER_NAME' => (string) $host,
            'REDIRECT_STATUS' => '200',
        ];
    }

    /** @return array<string, list<string>> values by name, which is spelled as it came first */
    private function headers(): array
    {
        $headers = [];
        foreach (array_slice($this->head, 1) as $line) {
            [$name, $value] = explode(':', $line, 2);
            $spelled = current(preg_grep('/^' . preg_quote($name, '/') . '$/i', array_keys($headers)) ?: [$name]);
            $headers[$spelled][] = trim($value, " \t");
        }

        return $headers;
    }

    /** @param list<string|array{times: int, text: string}> $texts whose characters are bytes */
    private static function bytes(array $texts): string
    {
        $bytes = '';
        foreach ($texts as $text) {
            $bytes .= is_string($text) ? $text : str_repeat($text['text'], $text['times']);
        }

        return (string) preg_replace_callback(
            '/[\xC2\xC3][\x80-\xBF]/',
            static fn (array $found): string => chr((ord($found[0][0]) & 3) << 6 | ord($found[0][1]) & 0x3F),
            $bytes,
        );
    }
}
