<?php

declare(strict_types=1);

namespace Stampede\Worker\Tests;

/** A directory that holds an app for one test. */
final class ScratchDirectory
{
    public string $directory;

    /** @param array<string, string> $files contents by path */
    public function __construct(array $files = [])
    {
        $this->directory = sys_get_temp_dir() . '/stampede-php-' . bin2hex(random_bytes(6));
        foreach ($files + ['public/index.php' => '<?php'] as $path => $text) {
            $file = "{$this->directory}/$path";
            is_dir(dirname($file)) || mkdir(dirname($file), 0700, true);
            file_put_contents($file, $text);
        }
    }

    public function __destruct()
    {
        $files = new \RecursiveIteratorIterator(
            new \RecursiveDirectoryIterator($this->directory, \FilesystemIterator::SKIP_DOTS),
            \RecursiveIteratorIterator::CHILD_FIRST,
        );
        foreach ($files as $file) {
            $file->isDir() ? rmdir((string) $file) : unlink((string) $file);
        }
        rmdir($this->directory);
    }
}
