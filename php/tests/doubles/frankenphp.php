<?php

declare(strict_types=1);

// Replaces functions for the head of an answer: a web server's PHP has them working, the CLI's does
// not.

namespace Stampede\Worker\FrankenPhp;

final class Head
{
    public static int $status = 200;
    /** @var list<string> */
    public static array $lines = [];
    public static bool $sent = false;

    public static function fresh(): void
    {
        [self::$status, self::$lines, self::$sent] = [200, [], false];
    }
}

function header(string $line, bool $replace = true): void
{
    $name = strtolower(explode(':', $line)[0]);
    $same = static fn (string $known): bool => strtolower(explode(':', $known)[0]) === $name;
    $kept = array_filter(Head::$lines, static fn (string $known): bool => !$same($known));
    Head::$lines = array_values($replace ? $kept : Head::$lines);
    Head::$lines[] = $line;
}

/** @return list<string> */
function headers_list(): array
{
    return Head::$lines;
}

function headers_sent(): bool
{
    return Head::$sent;
}

function http_response_code(int $status): void
{
    Head::$status = $status;
}
