<?php

declare(strict_types=1);

namespace Stampede\Worker\FrankenPhp;

use Stampede\Worker\Request;
use Stampede\Worker\Uploads;

/** Builds a request from the superglobals that a web server has filled. */
final class RequestFactory
{
    /** @param array<string, string> $headers without `Host`, which Go keeps separately */
    public static function fromSuperglobals(array $headers): Request
    {
        $headers += ['Host' => (string) ($_SERVER['HTTP_HOST'] ?? 'localhost')];

        return new Request(
            (string) ($_SERVER['REQUEST_METHOD'] ?? 'GET'),
            (string) ($_SERVER['REQUEST_URI'] ?? '/'),
            array_map(static fn (string $value): array => [$value], $headers),
            (string) file_get_contents('php://input'),
            $_COOKIE,
            $_POST,
            self::files($_FILES),
            (string) ($_SERVER['SERVER_PROTOCOL'] ?? 'HTTP/1.1'),
            (string) ($_SERVER['REMOTE_ADDR'] ?? '127.0.0.1'),
            (string) ($_SERVER['REQUEST_SCHEME'] ?? 'http'),
            (int) ($_SERVER['REMOTE_PORT'] ?? 0),
            bodyBytes: (int) ($_SERVER['CONTENT_LENGTH'] ?? 0) ?: null,
        );
    }

    /**
     * @param array<mixed> $files as in `$_FILES`: the keys of the leaf outermost, the tree inside
     * @return array<mixed> the tree outermost, the leaves inside
     */
    public static function files(array $files): array
    {
        return array_map(static fn (array $field): array => self::transpose($field), $files);
    }

    /**
     * @param array<string, mixed> $field
     * @return array<mixed>
     */
    private static function transpose(array $field): array
    {
        if (!is_array($field['tmp_name'] ?? null)) {
            return array_intersect_key($field, array_flip(Uploads::LEAF));
        }
        $tree = [];
        foreach (array_keys($field['tmp_name']) as $at) {
            $of = static fn (mixed $value): mixed => is_array($value) ? $value[$at] ?? '' : '';
            $tree[$at] = self::transpose(array_map($of, $field));
        }

        return $tree;
    }
}
