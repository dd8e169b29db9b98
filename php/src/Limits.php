<?php

declare(strict_types=1);

namespace Stampede\Worker;

/** The limits that php.ini sets for what a request may bring. */
final class Limits
{
    public function __construct(
        public readonly int $bodyBytes,
        public readonly int $fileBytes,
        public readonly int $fields,
        public readonly int $files,
        public readonly int $parts,
        public readonly bool $takesForms,
    ) {
    }

    public static function fromIni(): self
    {
        $fields = (int) ini_get('max_input_vars');
        $files = (int) ini_get('max_file_uploads');
        $parts = (int) (ini_get('max_multipart_body_parts') ?: -1);

        return new self(
            self::bytes('post_max_size'),
            self::bytes('upload_max_filesize'),
            $fields,
            ini_get('file_uploads') ? $files : 0,
            $parts < 0 ? $fields + $files : $parts,
            (bool) ini_get('enable_post_data_reading'),
        );
    }

    /** Tells whether a body is longer than PHP takes one. */
    public function areExceededBy(int $bodyBytes): bool
    {
        return $this->bodyBytes > 0 && $bodyBytes > $this->bodyBytes;
    }

    /** Returns a size of php.ini, such as `50M`, in bytes. */
    private static function bytes(string $name): int
    {
        $value = trim((string) ini_get($name));
        $shift = match (strtolower(substr($value, -1))) {
            'k' => 10,
            'm' => 20,
            'g' => 30,
            default => 0,
        };

        return (int) $value << $shift;
    }
}
