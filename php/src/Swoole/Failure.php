<?php

declare(strict_types=1);

namespace Stampede\Worker\Swoole;

use Stampede\Worker\Problem;

/** Why no worker can begin: told in a worker, raised in the process that started them. */
final class Failure
{
    public function __construct(private string $file)
    {
        is_file($file) && unlink($file);
    }

    public function tell(\Throwable $error): void
    {
        $place = "{$error->getFile()}:{$error->getLine()}";
        $text = get_class($error) . ": {$error->getMessage()} in $place";
        file_put_contents($this->file, $text, LOCK_EX);
    }

    public function isTold(): bool
    {
        clearstatcache(true, $this->file);

        return is_file($this->file);
    }

    /** @throws Problem a worker told why */
    public function raise(): void
    {
        if ($this->isTold()) {
            throw new Problem('the app does not boot: ' . file_get_contents($this->file));
        }
    }
}
