<?php

declare(strict_types=1);

namespace Stampede\Worker;

/** A file of a form while its bytes come in. They go to disk at once. */
final class IncomingFile
{
    private int $error = UPLOAD_ERR_OK;
    private int $size = 0;
    private string $path = '';
    /** @var resource|null */
    private $stream = null;

    /**
     * @param string $name as the client said it, with its directories
     * @param list<array{int, int}> $limits in bytes, each with the error beyond it
     */
    public function __construct(
        private string $name,
        private string $type,
        string $directory,
        private array $limits = [],
    ) {
        if ($name === '') {
            $this->error = UPLOAD_ERR_NO_FILE;

            return;
        }
        $this->path = (string) @tempnam($directory, 'upload');
        $this->stream = $this->path === '' ? null : (@fopen($this->path, 'wb') ?: null);
        if ($this->stream === null) {
            $this->fail(UPLOAD_ERR_NO_TMP_DIR);
        }
    }

    public function write(string $bytes): void
    {
        if ($this->error !== UPLOAD_ERR_OK || $bytes === '') {
            return;
        }
        $this->size += strlen($bytes);
        foreach ($this->limits as [$limit, $error]) {
            if ($this->size > $limit) {
                $this->fail($error);

                return;
            }
        }
        if ($this->stream === null || @fwrite($this->stream, $bytes) !== strlen($bytes)) {
            $this->fail(UPLOAD_ERR_CANT_WRITE);
        }
    }

    /** The body ended before the file did. */
    public function cut(): void
    {
        if ($this->error === UPLOAD_ERR_OK) {
            $this->fail(UPLOAD_ERR_PARTIAL);
        }
    }

    /**
     * Returns the leaf, after the last byte.
     *
     * @return array{name: string, full_path: string, type: string, tmp_name: string, error: int, size: int}
     */
    public function leaf(): array
    {
        $this->close();
        $isWhole = $this->error === UPLOAD_ERR_OK;

        return [
            'name' => (string) preg_replace('~^.*[/\\\\]~s', '', $this->name),
            'full_path' => $this->name,
            'type' => $isWhole ? $this->type : '',
            'tmp_name' => $this->path,
            'error' => $this->error,
            'size' => $isWhole ? $this->size : 0,
        ];
    }

    private function fail(int $error): void
    {
        $this->error = $error;
        $this->close();
        if ($this->path !== '') {
            @unlink($this->path);
        }
        $this->path = '';
    }

    private function close(): void
    {
        if ($this->stream !== null) {
            fclose($this->stream);
            $this->stream = null;
        }
    }
}
