<?php

declare(strict_types=1);

/**
 * Answers what PHP made of the request, or with an answer of the kind that the path `/answer/KIND`
 * names. In what it shows each byte is a character, so that no byte is lost in JSON.
 */
return static function (array $server, string $body = ''): array {
    $path = explode('?', (string) ($server['REQUEST_URI'] ?? '/'), 2)[0];
    if (str_starts_with($path, '/answer/')) {
        return (require __DIR__ . '/answers.php')(substr($path, strlen('/answer/')));
    }
    $show = static function (mixed $value) use (&$show): mixed {
        if (is_string($value)) {
            return (string) preg_replace_callback('/[\x80-\xff]/', static function (array $found): string {
                $byte = ord($found[0]);

                return chr(0xC0 | $byte >> 6) . chr(0x80 | $byte & 0x3F);
            }, $value);
        }
        if (!is_array($value)) {
            return $value;
        }
        $shown = [];
        foreach ($value as $key => $one) {
            // A pair each: JSON's objects would lose the order, and whether a key is a number.
            $shown[] = [$show($key), $show($one)];
        }

        return $shown;
    };
    $contents = static function (mixed $value) use (&$contents): mixed {
        return is_array($value)
            ? array_map($contents, $value)
            : ($value === '' ? '' : md5((string) @file_get_contents((string) $value)));
    };
    $files = [];
    foreach ($_FILES as $field => $file) {
        $files[$field] = ['tmp_name' => $contents($file['tmp_name'] ?? '')] + (array) $file;
    }

    return [
        'status' => 200,
        'headers' => ['Content-Type' => 'application/json'],
        'body' => json_encode([
            'get' => $show($_GET),
            'post' => $show($_POST),
            'cookie' => $show($_COOKIE),
            'request' => $show($_REQUEST),
            'files' => $show($files),
            'server' => $show($server),
            'input' => strlen($body) > 256 ? strlen($body) . ' ' . md5($body) : $show($body),
        ], JSON_THROW_ON_ERROR | JSON_UNESCAPED_SLASHES),
    ];
};
