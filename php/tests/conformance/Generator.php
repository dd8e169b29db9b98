<?php

declare(strict_types=1);

namespace Stampede\Worker\Tests\Conformance;

/** Makes odd requests, always the same ones from one seed. */
final class Generator
{
    /** What names and values of queries, cookies and forms are made of. */
    private const ODD = [
        'a', 'b', 'c', 'A', '0', '1', '.', '..', '_', '-', '[', ']', '[]', '[x]', '[0]', '[a.b]', '=', '+', '%20',
        '%5B', '%5D', '%', '%4', '%00', '%FF', "\xFF", '%2B', '%26', '%3D', ':', ',', '"', "'", '\\', '/', '__Host-',
        '%5F', '~',
    ];
    /** What only bodies and cookies may have. */
    private const BLANKS = [' ', "\t", ' ', 'd e'];
    private const SEPARATORS = ['&', '&', '&', '&&', ';', '='];

    private int $made = 0;

    public function __construct(private int $state)
    {
    }

    public function request(): RawRequest
    {
        $this->made++;
        $target = '/?' . $this->pairs(self::ODD, self::SEPARATORS);
        $cookie = $this->pairs([...self::ODD, ...self::BLANKS], ['; ', ';', '; ', '=', ',']);
        $head = ["POST $target HTTP/1.1"];
        trim($cookie) === '' || $head[] = "Cookie: $cookie";
        if ($this->below(2) === 0) {
            $body = $this->pairs([...self::ODD, ...self::BLANKS, "\r\n"], self::SEPARATORS);
            $head[] = 'Content-Type: application/x-www-form-urlencoded';
        } else {
            $body = $this->multipart();
            $head[] = 'Content-Type: multipart/form-data; boundary=B';
        }

        return new RawRequest("generated {$this->made}", $head, $body);
    }

    private function multipart(): string
    {
        $body = '';
        for ($parts = $this->below(5); $parts > 0; $parts--) {
            $body .= $this->one(["--B\r\n", "--B\r\n", "--B\r\n", "--B\n", "--B \r\n", "--BB\r\n"]);
            $body .= $this->head() . $this->one(["\r\n", "\r\n", "\n"]);
            $body .= $this->text(["x", "\r", "\n", "\r\n", '--B', "\r\n--", "\n-", "\xFF", "\0"], 8);
            $body .= $this->one(["\r\n", "\r\n", "\r\n", "\n", '']);
        }
        $body .= $this->one(["--B--\r\n", '--B--', '']);

        return $this->below(6) === 0 ? substr($body, 0, $this->below(strlen($body) + 1)) : $body;
    }

    private function head(): string
    {
        $names = ['a', 'b.c', 'd e', '[', ']', '[]', '[x]', '\\"', '\\\\', "'", ';', '=', '\\', "\xFF", '/'];
        $lines = [];
        $quote = $this->one(['"', '"', '"', "'", '']);
        $disposition = $this->one(['Content-Disposition: form-data', 'content-disposition:form-data', 'X: y']);
        $disposition .= '; name=' . $quote . $this->text($names, 4) . $quote;
        if ($this->below(2) === 0) {
            $quote = $this->one(['"', '"', "'", '']);
            $disposition .= $this->one(['; ', ';', ' ; ', ";\r\n ", ' ']);
            $disposition .= 'filename=' . $quote . $this->text($names, 4) . $quote;
            $lines[] = $this->one(['Content-Type: text/plain', 'content-type:a/b; c=d', 'Content-Type:', 'junk']);
        }
        array_splice($lines, $this->below(count($lines) + 1), 0, [$disposition]);

        return implode($this->one(["\r\n", "\r\n", "\n"]), $lines) . "\r\n";
    }

    /**
     * @param list<string> $from
     * @param list<string> $separators
     */
    private function pairs(array $from, array $separators): string
    {
        $text = '';
        for ($pairs = $this->below(6); $pairs > 0; $pairs--) {
            $text .= $this->text($from, 4);
            $text .= $this->below(4) === 0 ? '' : '=' . $this->text($from, 3);
            $text .= $this->one($separators);
        }

        return $text;
    }

    /** @param list<string> $from */
    private function text(array $from, int $most): string
    {
        $text = '';
        for ($left = $this->below($most + 1); $left > 0; $left--) {
            $text .= $this->one($from);
        }

        return $text;
    }

    /** @param list<string> $from */
    private function one(array $from): string
    {
        return $from[$this->below(count($from))];
    }

    /** A linear congruential generator: Knuth, The Art of Computer Programming, volume 2, 3.3.4. */
    private function below(int $limit): int
    {
        $this->state = ($this->state * 1_103_515_245 + 12_345) & 0x7FFF_FFFF;

        return intdiv($this->state, 1 << 8) % $limit;
    }
}
