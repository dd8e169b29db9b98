<?php

declare(strict_types=1);

namespace Stampede\Worker\Check;

/** The connections to databases that one look meets. It is gone with that look, for it holds them. */
final class Connections
{
    public const KINDS = [\PDO::class, \mysqli::class, 'PgSql\Connection', \SQLite3::class];
    /** Connections that are asked for their settings; of those beyond it only their number is told. */
    private const ASKED = 8;

    /** @var array<int, object> by their ids */
    private array $met = [];
    /** @var array<int, string> how they are named to people */
    private array $names = [];

    /** @param string $where its holder; empty: nobody can name it */
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

    /** Those with a transaction that nobody has ended. */
    public function transactions(): int
    {
        return count(array_filter($this->met, [Session::class, 'isInTransaction']));
    }

    /**
     * What each of them works with.
     *
     * @param array<string, array<string, string>> $known as it was told by the look before
     * @return array<string, array<string, string>> by its name; of one that cannot be asked now, as it was known
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
