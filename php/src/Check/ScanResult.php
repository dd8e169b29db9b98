<?php

declare(strict_types=1);

namespace Stampede\Worker\Check;

/** The result of one scan. Holders are the outermost places that the app's code can name. */
final class ScanResult
{
    /** The most holders that are listed. */
    private const HOLDERS = 2_000;

    /** @var list<array{where: string, token: string}> */
    public array $tokens = [];
    /** @var array<string, int> how much each holder holds; holders of nothing are left out */
    public array $sizes = [];

    /** The number of open database connections. */
    public int $connections = 0;
    /** The number of connections with an open transaction. */
    public int $transactions = 0;
    /** @var array<string, array<string, string>> settings of the connections, by connection name */
    public array $connectionSettings = [];

    /** @param list<string> $tokens */
    public function add(string $where, int $size, array $tokens): void
    {
        foreach ($tokens as $token) {
            $entry = ['where' => $where, 'token' => $token];
            in_array($entry, $this->tokens, true) || $this->tokens[] = $entry;
        }
        if ($size > 0 && (isset($this->sizes[$where]) || count($this->sizes) < self::HOLDERS)) {
            $this->sizes[$where] = ($this->sizes[$where] ?? 0) + $size;
        }
    }
}
