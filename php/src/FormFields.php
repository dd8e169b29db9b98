<?php

declare(strict_types=1);

namespace Stampede\Worker;

/** Nests the names of a form's fields as PHP does: `a[b][]`, with `.` and blanks as `_`. */
final class FormFields
{
    /** @return array<mixed> as in `$_POST` */
    public static function ofQuery(string $body, int $most): array
    {
        $form = Query::parse($body);
        if (substr_count($body, '&') >= $most) {
            $pairs = array_values(array_filter(explode('&', $body), static fn (string $pair): bool => $pair !== ''));
            // Of a form that is longer PHP takes one field more than `max_input_vars`; of a query not.
            if (isset($pairs[$most])) {
                self::add($form, $pairs[$most]);
            }
        }

        return $form;
    }

    /**
     * @param list<array{string, string}> $fields names and values
     * @return array<mixed> as in `$_POST`
     */
    public static function ofParts(array $fields): array
    {
        $pairs = array_map(
            static fn (array $field): string => urlencode($field[0]) . '=' . urlencode($field[1]),
            $fields,
        );
        return Query::parse(implode('&', $pairs));
    }

    /**
     * @param list<array{string, array<string, mixed>}> $files names and leaves
     * @return array<mixed> a tree with their leaves
     */
    public static function ofFiles(array $files): array
    {
        $pairs = [];
        foreach ($files as $at => [$name]) {
            // PHP puts `[name]` and the like before the first bracket, and then finds no name.
            $pairs[] = str_starts_with(ltrim($name, ' '), '[') ? '' : urlencode($name) . "=$at";
        }
        $tree = Query::parse(implode('&', $pairs));
        array_walk_recursive($tree, static function (string &$at) use ($files): void {
            $at = $files[(int) $at][1];
        });

        return $tree;
    }

    /**
     * Adds one more field.
     *
     * @param array<mixed> $form
     */
    private static function add(array &$form, string $pair): void
    {
        $alone = Query::parse($pair);
        preg_match_all('~\[([^]]*)\]~', urldecode(explode('=', $pair, 2)[0]), $keys);
        $place = &$form;
        for ($depth = 0; is_array($alone); $depth++) {
            $key = array_key_first($alone);
            if ($key === null) {
                return;
            }
            $place = is_array($place) ? $place : [];
            if ($depth > 0 && ($keys[1][$depth - 1] ?? '') === '') {
                $place[] = null;
                $key = array_key_last($place);
            }
            $place = &$place[$key];
            $alone = current($alone);
        }
        $place = $alone;
    }
}
