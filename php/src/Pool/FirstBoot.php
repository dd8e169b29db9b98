<?php

declare(strict_types=1);

namespace Stampede\Worker\Pool;

use Stampede\Worker\Ends;

/**
 * Whether the app could ever be booted, for runtimes whose own master would try for ever. Its
 * processes and the master know it by files of the working directory.
 */
final class FirstBoot
{
    private string $file;

    public function __construct(string $dir)
    {
        $this->file = "$dir/tmp/boot";
    }

    /**
     * Boots. Where that fails and has never worked, the master is told with a signal, and says why.
     *
     * @template T
     * @param callable(): T $boot
     * @return T
     */
    public function of(callable $boot, int $signal)
    {
        $booted = $this->towards($boot, $signal);
        touch("{$this->file}-worked");

        return $booted;
    }

    /**
     * A first part of a boot, which alone does not make it work.
     *
     * @template T
     * @param callable(): T $part
     * @return T
     */
    public function towards(callable $part, int $signal)
    {
        try {
            return $part();
        } catch (\Throwable $error) {
            $this->failed(Ends::why($error), $signal);
            exit(1);
        }
    }

    /** In the master, when it ends: the first boot's failure is its own. */
    public function ended(): void
    {
        $why = is_file("{$this->file}-worked") ? false : @file_get_contents("{$this->file}-failed");
        if ($why !== false) {
            Ends::lastly($why);
            exit(1);
        }
    }

    private function failed(string $why, int $signal): void
    {
        if (is_file("{$this->file}-worked")) {
            Ends::lastly($why);
            sleep(1);   // for its master starts another one at once
        } else {
            file_put_contents("{$this->file}-failed", $why);
            posix_kill(posix_getppid(), $signal);
        }
    }
}
