<?php

declare(strict_types=1);

namespace Stampede\Worker;

/** Parses cookies, form and files of a request, for servers that leave them to the app. */
final class Form
{
    /** @param string $directory where uploaded files are stored */
    public static function parse(Request $request, string $directory): void
    {
        $request->cookies = self::cookies($request->header('Cookie') ?? '');
        $type = $request->header('Content-Type') ?? '';
        if (stripos($type, 'application/x-www-form-urlencoded') === 0) {
            parse_str($request->body, $request->form);
        } elseif (preg_match('~^multipart/form-data\b.*\bboundary=("?)([^";,\s]+)\1~i', $type, $found)) {
            self::multipart($request, $found[2], $directory);
            $request->body = '';
        }
    }

    /** @return array<string, string> */
    public static function cookies(string $header): array
    {
        $cookies = [];
        foreach (explode(';', $header) as $pair) {
            [$name, $value] = explode('=', trim($pair), 2) + ['', null];
            if ($name !== '' && $value !== null) {
                $cookies += [urldecode($name) => urldecode($value)];
            }
        }

        return $cookies;
    }

    /** Parses a body as in RFC 7578. Names of fields nest as in PHP: `a[b][]`. */
    private static function multipart(Request $request, string $boundary, string $directory): void
    {
        $fields = $files = [];
        foreach (self::parts($request->body, $boundary) as [$head, $content]) {
            $name = self::parameter($head, 'name');
            $file = self::parameter($head, 'filename');
            if ($name !== null && $file === null) {
                $fields[] = [$name, $content];
            } elseif ($name !== null) {
                preg_match('~^Content-Type:[ \t]*([^\r\n]*)~mi', $head, $type);
                $files[] = [$name, $file === ''
                    ? Uploads::createMissing('', UPLOAD_ERR_NO_FILE)
                    : Uploads::store($file, trim($type[1] ?? ''), $content, $directory)];
            }
        }
        $request->form = self::nest($fields);
        $request->files = self::nest($files);
    }

    /** @return iterable<array{string, string}> headers and content of each part */
    private static function parts(string $body, string $boundary): iterable
    {
        $line = "\r\n--$boundary";
        $body = "\r\n$body";
        $at = strpos($body, $line);
        while ($at !== false) {
            $begin = $at + strlen($line);
            $at = strpos($body, $line, $begin);
            $middle = strpos($body, "\r\n\r\n", $begin);
            if ($at !== false && $middle !== false && $middle < $at) {
                $head = substr($body, $begin, $middle - $begin);
                yield [$head, substr($body, $middle + 4, $at - $middle - 4)];
            }
        }
    }

    private static function parameter(string $head, string $name): ?string
    {
        $disposition = '~^Content-Disposition:[^\r\n]*;[ \t]*' . $name . '=("((?:[^"\\\\]|\\\\.)*)"|[^;\s]*)~mi';
        if (!preg_match($disposition, $head, $found)) {
            return null;
        }

        return isset($found[2]) ? preg_replace('~\\\\(["\\\\])~', '$1', $found[2]) : $found[1];
    }

    /**
     * @param list<array{string, mixed}> $pairs of a name and a value
     * @return array<mixed>
     */
    private static function nest(array $pairs): array
    {
        $query = [];
        foreach ($pairs as $at => [$name]) {
            $query[] = urlencode($name) . "=$at";
        }
        parse_str(implode('&', $query), $tree);
        array_walk_recursive($tree, static function (mixed &$at) use ($pairs): void {
            $at = $pairs[(int) $at][1];
        });

        return $tree;
    }
}
