<?php

declare(strict_types=1);

namespace Stampede\Worker\Check;

/**
 * The database connections that one scan finds. It holds them, so it must not outlive that scan.
 *
 * @phpstan-import-type Connection from ConnectionSettings
 */
final class Connections
{
    public const KINDS = [\PDO::class, \mysqli::class, 'PgSql\Connection', \SQLite3::class];
    /** How many connections are read. Others are only counted. */
    private const MAX_READ = 8;

    /** @var array<int, Connection> by their ids */
    private array $connections = [];
    /** @var array<int, string> the connections' names in reports, keyed by object id */
    private array $names = [];

    /**
     * Adds the object if it is a connection.
     *
     * @param string $where the place that holds it; empty if no place has a name
     */
    public function add(object $object, string $where): void
    {
        $id = spl_object_id($object);
        if (!isset($this->connections[$id]) && self::isConnection($object)) {
            $this->connections[$id] = $object;
            $name = $where === '' ? ConnectionSettings::driver($object) : $where;
            $same = array_filter($this->names, static fn (string $one): bool => explode(' #', $one)[0] === $name);
            $this->names[$id] = $same === [] ? $name : "$name #" . count($same) + 1;
        }
    }

    public function count(): int
    {
        return count($this->connections);
    }

    /** Returns how many of them have an open transaction. */
    public function countTransactions(): int
    {
        return count(array_filter($this->connections, [ConnectionSettings::class, 'isInTransaction']));
    }

    /**
     * Returns the settings of each connection.
     *
     * @param array<string, array<string, string>> $known what the previous scan returned
     * @return array<string, array<string, string>> by connection name; a connection that cannot be
     *     asked now keeps its known settings
     */
    public function readSettings(array $known): array
    {
        $settings = [];
        foreach (array_slice($this->connections, 0, self::MAX_READ, true) as $id => $connection) {
            $name = $this->names[$id];
            $read = ConnectionSettings::read($connection) ?? $known[$name] ?? [];
            $read === [] || $settings[$name] = $read;
        }

        return $settings;
    }

    /** @phpstan-assert-if-true Connection $object */
    private static function isConnection(object $object): bool
    {
        foreach (self::KINDS as $kind) {
            if ($object instanceof $kind) {
                return true;
            }
        }

        return false;
    }
}
