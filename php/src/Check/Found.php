<?php

declare(strict_types=1);

namespace Stampede\Worker\Check;

/** What one look has found, by holders: the outermost place that the app's code can name. */
final class Found
{
    /** Holders that are told. */
    private const HOLDERS = 2_000;

    /** @var list<array{where: string, token: string}> */
    public array $tokens = [];
    /** @var array<string, int> how much each holds, if anything */
    public array $sizes = [];

    /** Connections to databases. */
    public int $connections = 0;
    /** Of those, with a transaction that nobody has ended. */
    public int $transactions = 0;
    /** @var array<string, array<string, string>> what the connections work with, by their names */
    public array $sessions = [];

    /** @param list<string> $tokens */
    public function add(string $where, int $size, array $tokens): void
    {
        foreach ($tokens as $token) {
            $found = ['where' => $where, 'token' => $token];
            in_array($found, $this->tokens, true) || $this->tokens[] = $found;
        }
        if ($size > 0 && (isset($this->sizes[$where]) || count($this->sizes) < self::HOLDERS)) {
            $this->sizes[$where] = ($this->sizes[$where] ?? 0) + $size;
        }
    }
}
