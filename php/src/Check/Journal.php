<?php

declare(strict_types=1);

namespace Stampede\Worker\Check;

/** The file of one worker: a JSON object per line, each line appended by one write. */
final class Journal
{
    /** With these flags a line is valid JSON, whatever the app has in its strings. */
    private const FLAGS = JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE
        | JSON_INVALID_UTF8_SUBSTITUTE | JSON_PARTIAL_OUTPUT_ON_ERROR;

    public string $worker;
    private string $file;
    private int $pid;

    public function __construct(string $directory)
    {
        $this->pid = (int) getmypid();
        $this->worker = "{$this->pid}-" . bin2hex(random_bytes(6));
        $this->file = "$directory/{$this->worker}.ndjson";
    }

    /** @param array<string, mixed> $line */
    public function write(array $line): void
    {
        // A process that the app has forked is not a worker.
        if ($this->pid === getmypid()) {
            // Opened for each line: a descriptor that stays open would count among the app's.
            file_put_contents($this->file, json_encode($line, self::FLAGS) . "\n", FILE_APPEND);
        }
    }

    /** Writes why a line is missing. */
    public function writeFailure(\Throwable $error): void
    {
        try {
            $why = get_class($error) . ": {$error->getMessage()}";
            $this->write(['at' => 'failed', 'why' => $why]);
        } catch (\Throwable) {
        }
    }
}
