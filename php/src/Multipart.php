<?php

declare(strict_types=1);

namespace Stampede\Worker;

/**
 * Parses a body of `multipart/form-data` piece by piece, by PHP's rules rather than RFC 7578's. A
 * file goes to disk as it comes; what is kept in memory is the fields and the end of the last piece.
 */
final class Multipart
{
    /** A line that is longer is none: PHP's own buffer is smaller. */
    private const LINE_MAX = 1 << 16;

    /** @var list<array{string, string}> names and values of fields */
    public array $fields = [];
    /** @var list<array{string, array<string, mixed>}> names and leaves of files */
    public array $files = [];
    private string $delimiter;
    private string $rest = '';
    /** What is read now: `lines` before a part, its `head`, its `body`, or nothing any more. */
    private string $state = 'lines';
    private PartHead $head;
    /** The file that is written now; null: the part is a field. */
    private ?IncomingFile $file = null;
    private string $value = '';
    private string $name = '';
    private int $parts = 0;
    private int $filesLeft;
    /** The form's own limit for its files: a field `MAX_FILE_SIZE` before them. */
    private int $fileBytes = 0;

    /** @param string $directory where files are stored */
    public function __construct(string $boundary, private Limits $limits, private string $directory)
    {
        $this->delimiter = "\n--$boundary";
        $this->filesLeft = $limits->files;
    }

    /** Returns the boundary that a `Content-Type` names as PHP reads it; null: PHP takes no form. */
    public static function boundary(string $type): ?string
    {
        $at = stripos($type, 'boundary');
        $value = $at === false ? false : strpbrk(substr($type, $at), '=');
        if ($value === false) {
            return null;
        }
        $value = substr($value, 1);
        if (!str_starts_with($value, '"')) {
            return substr($value, 0, strcspn($value, ',;'));
        }
        $end = strpos($value, '"', 1);

        return $end === false ? null : substr($value, 1, $end - 1);
    }

    /** Takes the next bytes of the body. */
    public function feed(string $bytes): void
    {
        $this->rest .= $bytes;
        while ($this->step()) {
        }
    }

    /** Tells the parser that the body has ended, whole or not. */
    public function finish(): void
    {
        if ($this->state === 'head') {
            // A part that is cut off in its head; a line that has no end is its content.
            $this->beginPart();
        }
        if ($this->state === 'body') {
            // A beginning of the delimiter at the very end is no content either.
            $length = strlen($this->rest);
            for ($at = max(0, $length - strlen($this->delimiter)); $at < $length; $at++) {
                if (str_starts_with($this->delimiter, substr($this->rest, $at))) {
                    $this->rest = self::withoutReturn(substr($this->rest, 0, $at));
                    break;
                }
            }
            $this->content($this->rest);
            $this->file?->cut();
            $this->endPart();
        }
        $this->end();
    }

    /** Tells whether more can be read from what is there. */
    private function step(): bool
    {
        return match ($this->state) {
            'lines', 'head' => $this->line(),
            'body' => $this->body(),
            default => $this->end(),
        };
    }

    private function end(): bool
    {
        [$this->state, $this->rest] = ['ended', ''];

        return false;
    }

    private function line(): bool
    {
        $end = strpos($this->rest, "\n");
        if ($end === false) {
            $this->rest = strlen($this->rest) > self::LINE_MAX ? '' : $this->rest;

            return false;
        }
        // PHP reads lines as C strings.
        $line = explode("\0", self::withoutReturn(substr($this->rest, 0, $end)), 2)[0];
        $this->rest = substr($this->rest, $end + 1);
        if ($this->state === 'lines') {
            $begins = $line === substr($this->delimiter, 1);
            [$this->state, $this->head] = [$begins ? 'head' : 'lines', new PartHead()];
        } elseif ($line !== '') {
            $this->head->add($line);
        } else {
            $this->beginPart();
        }

        return true;
    }

    private function beginPart(): void
    {
        $this->state = 'lines';
        if (!$this->head->isDisposed()) {
            return;
        }
        $name = $this->head->parameter('name');
        $file = $this->head->parameter('filename');
        if (++$this->parts > $this->limits->parts || ($name === null && $file === null)) {
            $this->end();
        } elseif ($file === null) {
            [$this->state, $this->name, $this->value] = ['body', (string) $name, ''];
        } elseif ($name !== null && $this->filesLeft > 0) {
            $this->beginFile($name, $file);
        }
    }

    private function beginFile(string $name, string $file): void
    {
        // PHP takes no file whose name it would have to repair, nor any that comes after it.
        if (preg_match('~^[^][]*(\[[^][]*\])*$~D', $name) !== 1) {
            $this->filesLeft = 0;

            return;
        }
        $incoming = new IncomingFile($file, $this->head->type(), $this->directory, $this->maxFileBytes());
        if ($file === '') {
            $this->files[] = [$name, $incoming->leaf()];

            return;
        }
        $this->filesLeft--;
        [$this->state, $this->name, $this->file] = ['body', $name, $incoming];
    }

    /** @return list<array{int, int}> limits of a file in bytes, each with the error beyond it */
    private function maxFileBytes(): array
    {
        $limits = [
            [$this->limits->fileBytes, UPLOAD_ERR_INI_SIZE],
            [$this->fileBytes, UPLOAD_ERR_FORM_SIZE],
        ];

        return array_values(array_filter($limits, static fn (array $limit): bool => $limit[0] > 0));
    }

    private function body(): bool
    {
        $end = strpos($this->rest, $this->delimiter);
        if ($end !== false) {
            $this->content(self::withoutReturn(substr($this->rest, 0, $end)));
            // The delimiter's line is read again, as a line.
            $this->rest = substr($this->rest, $end);
            $this->endPart();

            return true;
        }
        $sure = strlen($this->rest) - strlen($this->delimiter);
        if ($sure > 0) {
            $this->content(substr($this->rest, 0, $sure));
            $this->rest = substr($this->rest, $sure);
        }

        return false;
    }

    private function content(string $bytes): void
    {
        if ($this->file === null) {
            $this->value .= $bytes;
        } else {
            $this->file->write($bytes);
        }
    }

    private function endPart(): void
    {
        $this->state = 'lines';
        if ($this->file !== null) {
            $this->files[] = [$this->name, $this->file->leaf()];
            $this->file = null;

            return;
        }
        if (count($this->fields) < $this->limits->fields) {
            $this->fields[] = [$this->name, $this->value];
        }
        if (strcasecmp($this->name, 'MAX_FILE_SIZE') === 0) {
            $this->fileBytes = (int) $this->value;
        }
        $this->value = '';
    }

    private static function withoutReturn(string $line): string
    {
        return str_ends_with($line, "\r") ? substr($line, 0, -1) : $line;
    }
}
