<?php

declare(strict_types=1);

namespace App;

/** Lines that are written at the end, which in a worker never comes. */
final class Log
{
    /** @var list<string> */
    private array $lines = [];

    public function keep(string $line): void
    {
        $this->lines[] = $line;
    }
}
