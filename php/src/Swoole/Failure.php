<?php

declare(strict_types=1);

namespace Stampede\Worker\Swoole;

use Stampede\Worker\Problem;

/** Why no worker can begin: told in a worker, raised in the process that started them. */
final class Failure
{
    /** @param object $flag number that all processes share, 0 at first */
    public function __construct(private string $file, private object $flag)
    {
    }

    public function tell(\Throwable $error): void
    {
        $place = "{$error->getFile()}:{$error->getLine()}";
        $text = get_class($error) . ": {$error->getMessage()} in $place";
        file_put_contents($this->file, $text, LOCK_EX);
        $this->flag->set(1);
    }

    /**
     * Asks no file: Open Swoole's manager takes `errno` of what it ran for its own, and would log
     * a warning each time.
     */
    public function isTold(): bool
    {
        return $this->flag->get() === 1;
    }

    /** @throws Problem a worker told why */
    public function raise(): void
    {
        if ($this->isTold()) {
            throw new Problem('the app does not boot: ' . file_get_contents($this->file));
        }
    }
}
