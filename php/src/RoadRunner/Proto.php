<?php

declare(strict_types=1);

namespace Stampede\Worker\RoadRunner;

use Stampede\Worker\Problem;

/** Reads and writes the part of Protocol Buffers that RoadRunner uses: varints and byte strings. */
final class Proto
{
    /**
     * @return array<int, list<int|string>> values by field number, in order
     * @throws Problem if the message is cut off, or has an unexpected type
     */
    public static function decode(string $bytes): array
    {
        $fields = [];
        for ($at = 0, $end = strlen($bytes); $at < $end;) {
            $key = self::decodeVarint($bytes, $at);
            $value = self::decodeVarint($bytes, $at);
            if (($key & 7) === 2) {
                if ($value > $end - $at) {
                    throw new Problem('a message of RoadRunner is cut off');
                }
                [$length, $value] = [$value, substr($bytes, $at, $value)];
                $at += $length;
            } elseif (($key & 7) !== 0) {
                throw new Problem('a message of RoadRunner has an unknown type ' . ($key & 7));
            }
            $fields[$key >> 3][] = $value;
        }

        return $fields;
    }

    /**
     * Reads a field that maps a text to a list of texts.
     *
     * @param list<int|string> $entries
     * @return array<string, list<int|string>>
     */
    public static function decodeMap(array $entries): array
    {
        $map = [];
        foreach ($entries as $entry) {
            $fields = self::decode((string) $entry);
            $map[(string) ($fields[1][0] ?? '')] = self::decode((string) ($fields[2][0] ?? ''))[1]
                ?? [];
        }

        return $map;
    }

    public static function encodeNumber(int $field, int $value): string
    {
        return self::encodeVarint($field << 3) . self::encodeVarint($value);
    }

    public static function encodeText(int $field, string $value): string
    {
        return self::encodeVarint($field << 3 | 2) . self::encodeVarint(strlen($value)) . $value;
    }

    /** @param array<string, list<string>> $map */
    public static function encodeMap(int $field, array $map): string
    {
        $bytes = '';
        foreach ($map as $name => $values) {
            $list = implode('', array_map(static fn ($one) => self::encodeText(1, $one), $values));
            $bytes .= self::encodeText($field, self::encodeText(1, (string) $name) . self::encodeText(2, $list));
        }

        return $bytes;
    }

    private static function decodeVarint(string $bytes, int &$at): int
    {
        for ($value = 0, $shift = 0; $shift < 64; $shift += 7) {
            if (!isset($bytes[$at])) {
                break;
            }
            $byte = ord($bytes[$at++]);
            $value |= ($byte & 0x7F) << $shift;
            if ($byte < 0x80) {
                return $value;
            }
        }
        throw new Problem('a message of RoadRunner is cut off');
    }

    private static function encodeVarint(int $value): string
    {
        for ($bytes = ''; $value > 0x7F; $value >>= 7) {
            $bytes .= chr($value & 0x7F | 0x80);
        }

        return $bytes . chr($value);
    }
}
