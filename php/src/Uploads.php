<?php

declare(strict_types=1);

namespace Stampede\Worker;

/**
 * The files of a request: leaves in a tree of fields.
 *
 * @phpstan-type Leaf array{
 *     name?: string, full_path?: string, type?: string, tmp_name: string, error: int, size?: int,
 * }
 */
final class Uploads
{
    /** The keys of a leaf, in PHP's order. */
    public const LEAF = ['name', 'full_path', 'type', 'tmp_name', 'error', 'size'];

    /**
     * Tells whether a node of the tree is a file.
     *
     * @phpstan-assert-if-true Leaf $node
     */
    public static function isFile(mixed $node): bool
    {
        return is_array($node) && is_string($node['tmp_name'] ?? null) && isset($node['error']);
    }

    /**
     * Turns the tree into `$_FILES`, where the keys of the leaves are outermost and the tree inside.
     *
     * @param array<mixed> $tree
     * @return array<mixed>
     */
    public static function superglobal(array $tree): array
    {
        $files = [];
        foreach ($tree as $field => $node) {
            foreach (self::LEAF as $key) {
                $files[$field][$key] = self::collect((array) $node, $key);
            }
        }

        return $files;
    }

    /**
     * Removes the files that the app has not moved away, as PHP does after a request.
     *
     * @param array<mixed> $tree
     */
    public static function remove(array $tree): void
    {
        foreach ($tree as $node) {
            if (!self::isFile($node)) {
                self::remove((array) $node);
            } elseif (is_file($node['tmp_name'])) {
                unlink($node['tmp_name']);
            }
        }
    }

    /** @param array<mixed> $tree */
    private static function collect(array $tree, string $key): mixed
    {
        if (self::isFile($tree)) {
            return $tree[$key] ?? ($key === 'full_path' ? $tree['name'] ?? '' : '');
        }

        return array_map(static fn (mixed $node): mixed => self::collect((array) $node, $key), $tree);
    }
}
