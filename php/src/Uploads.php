<?php

declare(strict_types=1);

namespace Stampede\Worker;

/** Stores uploaded files as leaves of a request's tree of files. */
final class Uploads
{
    /**
     * Writes an upload to a file in the directory, and returns its leaf.
     *
     * @return array{name: string, type: string, size: int, error: int, tmp_name: string}
     */
    public static function store(string $name, string $type, string $content, string $directory): array
    {
        $file = (string) tempnam($directory, 'upload');
        $written = @file_put_contents($file, $content) === strlen($content);

        return [
            'name' => basename(strtr($name, '\\', '/')),
            'type' => $type,
            'size' => strlen($content),
            'error' => $written ? UPLOAD_ERR_OK : UPLOAD_ERR_CANT_WRITE,
            'tmp_name' => $file,
        ];
    }

    /**
     * Returns a leaf for a file that was not received.
     *
     * @return array{name: string, type: string, size: int, error: int, tmp_name: string}
     */
    public static function createMissing(string $name, int $error): array
    {
        return ['name' => $name, 'type' => '', 'size' => 0, 'error' => $error, 'tmp_name' => ''];
    }

    /**
     * Removes the files that the app has not moved away, as PHP does after a request.
     *
     * @param array<mixed> $tree
     */
    public static function remove(array $tree): void
    {
        foreach ($tree as $node) {
            if (!Request::isFile($node)) {
                self::remove((array) $node);
            } elseif (is_file($node['tmp_name'])) {
                unlink($node['tmp_name']);
            }
        }
    }
}
