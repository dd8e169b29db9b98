<?php

declare(strict_types=1);

namespace Stampede\Worker\Check;

/** Reads what the kernel says about this process. */
final class Process
{
    /**
     * Returns the number of open descriptors, without the one that lists them; null without /proc.
     */
    public static function countFiles(): ?int
    {
        $entries = scandir('/proc/self/fd');

        return $entries === false ? null : count($entries) - count(['.', '..', 'its own']);
    }

    /**
     * Returns the bytes of this process's memory that are resident, shared pages included; 0
     * without /proc.
     */
    public static function residentBytes(): int
    {
        $status = (string) file_get_contents('/proc/self/status');
        // In kB: pages would have to be multiplied by their size, which PHP cannot tell.
        preg_match('/^VmRSS:\s*(\d+) kB$/m', $status, $found);

        return (int) ($found[1] ?? 0) << 10;
    }

    /** Returns this thread's id; null without /proc. The only thread of a process has its pid. */
    public static function threadId(): ?int
    {
        $link = readlink('/proc/thread-self');

        return $link === false ? null : (int) basename($link);
    }

    /**
     * Returns the umask, read from /proc. PHP's `umask()` sets another mask for a moment, for all
     * threads: two calls at once may leave that one set.
     */
    public static function umask(): string
    {
        $status = (string) file_get_contents('/proc/self/status');
        if (preg_match('/^Umask:\s*(\d+)$/m', $status, $found) === 1) {
            return $found[1];
        }

        return PHP_ZTS ? '' : sprintf('%04o', umask());
    }
}
