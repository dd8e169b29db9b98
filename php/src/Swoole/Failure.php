<?php

declare(strict_types=1);

namespace Stampede\Worker\Swoole;

use Stampede\Worker\Problem;

/**
 * Why no worker can begin. A worker stores it, and the process that started the workers throws it.
 */
final class Failure
{
    /** @param \Swoole\Atomic $flag a number that all processes share, 0 at first */
    public function __construct(private string $file, private object $flag)
    {
    }

    public function store(\Throwable $error): void
    {
        $place = "{$error->getFile()}:{$error->getLine()}";
        $text = get_class($error) . ": {$error->getMessage()} in $place";
        file_put_contents($this->file, $text, LOCK_EX);
        $this->flag->set(1);
    }

    /**
     * Reads the shared number and no file: Open Swoole's manager takes the `errno` of the code it
     * ran for its own, and would log a warning each time.
     */
    public function isStored(): bool
    {
        return $this->flag->get() === 1;
    }

    /** @throws Problem if a worker has stored a failure */
    public function throwIfStored(): void
    {
        if ($this->isStored()) {
            throw new Problem('the app does not boot: ' . file_get_contents($this->file));
        }
    }
}
