<?php

declare(strict_types=1);

// Planted fault: the last upload stays in a static variable, and /files shows its name to everyone.

$last = static function (?string $name): string {
    static $kept = 'none';

    return $kept = $name ?? $kept;
};

return [
    '/' => static fn (): string
        => '<form method="post" action="/upload" enctype="multipart/form-data"><input type="file" name="file"></form>',
    '/upload' => static fn (): string => 'Taken: ' . htmlspecialchars($last($_FILES['file']['name'] ?? 'nothing')),
    '/files' => static fn (): string => 'The last file: ' . htmlspecialchars($last(null)),
];
