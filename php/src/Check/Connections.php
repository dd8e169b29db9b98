<?php

declare(strict_types=1);

namespace Stampede\Worker\Check;

/**
 * The database connections that one look finds. It holds them, so it must not outlive that look.
 */
final class Connections
{
    public const KINDS = [\PDO::class, \mysqli::class, 'PgSql\Connection', \SQLite3::class];
    /** How many connections are asked for their settings. Others are only counted. */
    private const ASKED = 8;

    /** @var array<int, object> by their ids */
    private array $met = [];
    /** @var array<int, string> the connections' names in reports, keyed by object id */
    private array $names = [];

    /** @param string $where the place that holds it; empty if no place has a name */
    public function meet(object $object, string $where): void
    {
        $id = spl_object_id($object);
        if (!isset($this->met[$id]) && self::is($object)) {
            $this->met[$id] = $object;
            $name = $where === '' ? Session::driver($object) : $where;
            $same = array_filter($this->names, static fn (string $one): bool => explode(' #', $one)[0] === $name);
            $this->names[$id] = $same === [] ? $name : "$name #" . count($same) + 1;
        }
    }

    public function count(): int
    {
        return count($this->met);
    }

    /** Returns how many of them have an open transaction. */
    public function transactions(): int
    {
        return count(array_filter($this->met, [Session::class, 'isInTransaction']));
    }

    /**
     * Returns the settings of each connection.
     *
     * @param array<string, array<string, string>> $known what the previous look returned
     * @return array<string, array<string, string>> by connection name; a connection that cannot be
     *     asked now keeps its known settings
     */
    public function sessions(array $known): array
    {
        $told = [];
        foreach (array_slice($this->met, 0, self::ASKED, true) as $id => $connection) {
            $name = $this->names[$id];
            $session = Session::of($connection) ?? $known[$name] ?? [];
            $session === [] || $told[$name] = $session;
        }

        return $told;
    }

    private static function is(object $object): bool
    {
        foreach (self::KINDS as $kind) {
            if ($object instanceof $kind) {
                return true;
            }
        }

        return false;
    }
}
