<?php

declare(strict_types=1);

namespace Stampede\Worker\Pool;

use Stampede\Worker\Main;

/**
 * Remembers whether the app could ever be booted, for runtimes whose own master would try for ever.
 * Processes and master share this knowledge through files in the working directory.
 */
final class FirstBoot
{
    private string $file;

    public function __construct(string $dir)
    {
        $this->file = "$dir/tmp/boot";
    }

    /**
     * Boots. If that fails and no boot has ever worked, a signal ends the master, which says why.
     *
     * @template T
     * @param callable(): T $boot
     * @return T
     */
    public function run(callable $boot, int $signal)
    {
        $booted = $this->runPart($boot, $signal);
        touch("{$this->file}-worked");

        return $booted;
    }

    /**
     * Runs a first part of a boot. Its success does not yet count as a successful boot.
     *
     * @template T
     * @param callable(): T $part
     * @return T
     */
    public function runPart(callable $part, int $signal)
    {
        try {
            return $part();
        } catch (\Throwable $error) {
            $this->recordFailure(Main::describe($error), $signal);
            exit(1);
        }
    }

    /** Called in the master when it ends: if no boot ever worked, it reports the first failure. */
    public function reportFailure(): void
    {
        $why = is_file("{$this->file}-worked") ? false : @file_get_contents("{$this->file}-failed");
        if ($why !== false) {
            Main::logFatal($why);
            exit(1);
        }
    }

    private function recordFailure(string $why, int $signal): void
    {
        if (is_file("{$this->file}-worked")) {
            Main::logFatal($why);
            sleep(1);   // because the master starts another process at once
        } else {
            file_put_contents("{$this->file}-failed", $why);
            posix_kill(posix_getppid(), $signal);
        }
    }
}
