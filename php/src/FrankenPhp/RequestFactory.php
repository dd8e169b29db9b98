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
        $headers += ['Host' => self::variable('HTTP_HOST', 'localhost')];

        return new Request(
            self::variable('REQUEST_METHOD', 'GET'),
            self::variable('REQUEST_URI', '/'),
            array_map(static fn (string $value): array => [$value], $headers),
            (string) file_get_contents('php://input'),
            $_COOKIE,
            $_POST,
            self::files($_FILES),
            self::variable('SERVER_PROTOCOL', 'HTTP/1.1'),
            self::variable('REMOTE_ADDR', '127.0.0.1'),
            self::variable('REQUEST_SCHEME', 'http'),
            (int) self::variable('REMOTE_PORT', '0'),
            bodyBytes: (int) self::variable('CONTENT_LENGTH', '0') ?: null,
        );
    }

    private static function variable(string $name, string $default): string
    {
        $value = $_SERVER[$name] ?? $default;

        return is_scalar($value) ? (string) $value : $default;
    }

    /**
     * @param array<mixed> $files as in `$_FILES`: the keys of the leaf outermost, the tree inside
     * @return array<mixed> the tree outermost, the leaves inside
     */
    public static function files(array $files): array
    {
        return array_map(static fn (mixed $field): array => self::transpose((array) $field), $files);
    }

    /**
     * @param array<mixed> $field
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
