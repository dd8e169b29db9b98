<?php

declare(strict_types=1);

namespace Stampede\Worker;

/** The header lines of one part of a multipart body, read as leniently as PHP reads them. */
final class PartHead
{
    private const BLANKS = " \t\n\r\v\f";
    /** @var array<int, array{string, string}> names and values */
    private array $lines = [];

    /** A line without a colon, or one that begins with a blank, continues the one before it. */
    public function add(string $line): void
    {
        $last = count($this->lines) - 1;
        if (strspn($line, self::BLANKS, 0, 1) === 0 && str_contains($line, ':')) {
            [$name, $value] = explode(':', $line, 2);
            $this->lines[] = [$name, ltrim($value, self::BLANKS)];
        } elseif ($last >= 0) {
            $this->lines[$last][1] .= $line;
        }
    }

    /** Returns the media type; it ends at the first semicolon. */
    public function type(): string
    {
        return explode(';', $this->value('Content-Type') ?? '', 2)[0];
    }

    /** Tells whether PHP looks at this part at all. */
    public function isDisposed(): bool
    {
        return $this->value('Content-Disposition') !== null;
    }

    /** Returns a parameter of `Content-Disposition`; null if there is none of that name. */
    public function parameter(string $wanted): ?string
    {
        $found = null;
        $rest = ltrim((string) $this->value('Content-Disposition'), self::BLANKS);
        while ($rest !== '') {
            $pair = self::word($rest, ';');
            $rest = ltrim($rest, self::BLANKS);
            if (str_contains($pair, '=')) {
                $name = self::word($pair, '=');
                $found = strcasecmp($name, $wanted) === 0 ? self::unquote($pair) : $found;
            }
        }

        return $found;
    }

    private function value(string $wanted): ?string
    {
        foreach ($this->lines as [$name, $value]) {
            if (strcasecmp($name, $wanted) === 0) {
                return $value;
            }
        }

        return null;
    }

    /** Takes what comes before `$stop` off a text; between quotes nothing stops. */
    private static function word(string &$text, string $stop): string
    {
        preg_match(
            "~^(?:\"(?:\\\\\"|[^\"])*+(?:\"|$)|'(?:\\\\'|[^'])*+(?:'|$)|[^\"'$stop])*+~sD",
            $text,
            $found,
        );
        $text = ltrim(substr($text, strlen($found[0])), $stop);

        return $found[0];
    }

    /** Returns a value without its quotes; one without quotes ends at the first blank. */
    private static function unquote(string $value): string
    {
        $value = ltrim($value, self::BLANKS);
        $quote = $value[0] ?? '';
        if ($quote !== '"' && $quote !== "'") {
            return str_replace('\\\\', '\\', substr($value, 0, strcspn($value, self::BLANKS)));
        }
        preg_match("~^$quote((?:\\\\[\\\\$quote]|[^$quote])*+)~s", $value, $found);

        return (string) preg_replace("~\\\\([\\\\$quote])~", '$1', $found[1]);
    }
}
