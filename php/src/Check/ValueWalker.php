<?php

declare(strict_types=1);

namespace Stampede\Worker\Check;

/**
 * Walks once through everything that outlives a request. It enters each object once, within limits.
 */
final class ValueWalker
{
    public const TOKEN = '/stmpd[0-9a-z]{12}/';
    private const DEPTH = 8;
    private const NODES = 50_000;
    /** How many of these nodes one holder may take. */
    private const NODES_OF_ONE = 20_000;
    /** How many elements of a long array are looked at, at its beginning and at its end each. */
    private const EDGE = 1_000;

    /** @var array<int, true> ids of objects */
    private array $seen;
    private int $left = self::NODES;
    private int $leftOfOne = 0;
    private int $size = 0;
    private string $where = '';
    /** @var array<string, true> */
    private array $tokens = [];

    /** @param array<int, true> $known ids of objects that are not entered */
    public function __construct(array $known, private bool $findsTokens, private Connections $connections)
    {
        $this->seen = $known;
    }

    /**
     * @param string $where the place's name in reports
     * @return array{int, list<string>} how much it holds (the number of elements of all arrays in
     *     it; for a string its length), and the tokens in it
     */
    public function walk(mixed $value, string $where): array
    {
        $this->where = $where;
        $this->leftOfOne = self::NODES_OF_ONE;
        $this->size = is_string($value) ? strlen($value) : 0;
        $this->tokens = [];
        $this->visit($value, self::DEPTH);

        return [$this->size, array_keys($this->tokens)];
    }

    private function visit(mixed $value, int $deep): void
    {
        if (is_string($value)) {
            if ($this->findsTokens) {
                $this->findTokens($value);
            }
        } elseif (is_array($value)) {
            $this->size += count($value);
            if ($deep > 0) {
                $this->visitElements($value, $deep - 1);
            }
        } elseif (is_object($value) && !isset($this->seen[spl_object_id($value)])) {
            $this->seen[spl_object_id($value)] = true;
            $this->connections->add($value, $this->where);
            if ($deep > 0) {
                $this->visitElements(ObjectContents::read($value), $deep - 1);
            }
        }
    }

    /** @param array<mixed> $elements */
    private function visitElements(array $elements, int $deep): void
    {
        if (count($elements) > 2 * self::EDGE) {
            $this->visitElements(array_slice($elements, -self::EDGE, null, true), $deep);
            $elements = array_slice($elements, 0, self::EDGE, true);
        }
        foreach ($elements as $key => $value) {
            if (--$this->left < 0 || --$this->leftOfOne < 0) {
                return;
            }
            if ($this->findsTokens && is_string($key)) {
                $this->findTokens($key);
            }
            is_scalar($value) && !is_string($value) || $this->visit($value, $deep);
        }
    }

    private function findTokens(string $text): void
    {
        if (str_contains($text, 'stmpd') && preg_match_all(self::TOKEN, $text, $found) > 0) {
            $this->tokens += array_fill_keys($found[0], true);
        }
    }
}
