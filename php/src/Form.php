<?php

declare(strict_types=1);

namespace Stampede\Worker;

/**
 * Reads what a server leaves to the app: cookies, and the body, which may be a form. It follows
 * PHP's own rules, so that an app finds what it finds under PHP-FPM. A multipart form is read as it
 * comes and is nowhere as a whole.
 */
final class Form
{
    /** Bytes of a body that are looked at together. */
    private const PIECE = 1 << 16;

    private ?Multipart $multipart = null;
    private Limits $limits;
    private string $type;
    private string $body = '';
    private int $bytes = 0;
    /** Whether the body is longer than PHP takes a form; it is then none. */
    private bool $isTooLong;

    /** @param string $directory where uploaded files are stored */
    public function __construct(private Request $request, string $directory)
    {
        $this->limits = Limits::fromIni();
        $type = $request->header('Content-Type') ?? '';
        $this->type = strtolower(substr($type, 0, strcspn($type, ';, ')));
        $this->isTooLong = $this->isTooLong((int) $request->header('Content-Length'));
        $request->cookies = Cookies::parse($request->header('Cookie') ?? '');
        $boundary = $this->isForm('multipart/form-data') ? Multipart::boundary($type) : null;
        // Otherwise PHP leaves the body to the app, as that of no form.
        if (!$this->isTooLong && $boundary !== null) {
            $this->multipart = new Multipart($boundary, $this->limits, $directory);
        }
    }

    /**
     * Reads a body that is here as a whole.
     *
     * @param string $bytes has the body in it, from `$from` on
     */
    public static function parse(Request $request, string $directory, string $bytes, int $from = 0): void
    {
        $form = new self($request, $directory);
        $piece = $form->multipart === null ? max(1, strlen($bytes) - $from) : self::PIECE;
        for ($at = $from; $at < strlen($bytes); $at += $piece) {
            $form->feed(substr($bytes, $at, $piece));
        }
        $form->finish();
    }

    /** Takes the next bytes of the body. */
    public function feed(string $bytes): void
    {
        $this->bytes += strlen($bytes);
        if ($this->multipart !== null) {
            $this->multipart->feed($bytes);
        } else {
            $this->body .= $bytes;
        }
    }

    /** Gives the request its form, its files or its body, after the last byte. */
    public function finish(): void
    {
        $this->request->bodyBytes = $this->bytes;
        $this->multipart?->finish();
        $this->isTooLong = $this->isTooLong || $this->isTooLong($this->bytes);
        if ($this->multipart === null) {
            $this->request->body = $this->body;
            if (!$this->isTooLong && $this->isForm('application/x-www-form-urlencoded')) {
                $this->request->form = FormFields::ofQuery($this->body, $this->limits->fields);
            }
        } elseif ($this->isTooLong) {
            Uploads::remove(FormFields::ofFiles($this->multipart->files));
        } else {
            $this->request->form = FormFields::ofParts($this->multipart->fields);
            $this->request->files = FormFields::ofFiles($this->multipart->files);
        }
        $this->multipart = null;
        $this->body = '';
    }

    /** Returns how many bytes of the body have come. */
    public function bytes(): int
    {
        return $this->bytes;
    }

    /** Forgets a body that the app does not get. After `finish` there is none. */
    public function discard(): void
    {
        if ($this->multipart !== null) {
            $this->multipart->finish();
            Uploads::remove(FormFields::ofFiles($this->multipart->files));
            $this->multipart = null;
        }
        $this->body = '';
    }

    private function isForm(string $type): bool
    {
        return $this->request->method === 'POST' && $this->limits->takesForms && $this->type === $type;
    }

    private function isTooLong(int $bytes): bool
    {
        return $this->request->method === 'POST' && $this->limits->areExceededBy($bytes);
    }
}
