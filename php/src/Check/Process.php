<?php

declare(strict_types=1);

namespace Stampede\Worker\Check;

/** What the kernel says of this process. */
final class Process
{
    /** Open descriptors, but that by which they are listed; null where there is no /proc. */
    public static function files(): ?int
    {
        $entries = scandir('/proc/self/fd');

        return $entries === false ? null : count($entries) - count(['.', '..', 'its own']);
    }

    /** Bytes of memory that the kernel counts as this process's own and present; 0 where there is no /proc. */
    public static function resident(): int
    {
        $pages = explode(' ', (string) file_get_contents('/proc/self/statm'))[1] ?? '0';

        return (int) $pages * 4096;
    }

    /** Of this thread; that of a process with one thread is its pid. */
    public static function thread(): ?int
    {
        $link = readlink('/proc/thread-self');

        return $link === false ? null : (int) basename($link);
    }

    /**
     * Read, not asked of PHP: its `umask()` sets another one for a moment, for all threads, and two
     * that do so at once may leave that.
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
