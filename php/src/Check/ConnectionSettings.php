<?php

declare(strict_types=1);

namespace Stampede\Worker\Check;

/**
 * Reads the settings of a database connection: one request leaves them to the next on the same
 * connection. It uses PDO's own methods, even where a class of the app overrides them, and a query
 * that touches no table (SQLite: pragmas). Where the app would notice the query, it asks nothing.
 *
 * @phpstan-type Connection \PDO|\mysqli|\SQLite3|\PgSql\Connection
 */
final class ConnectionSettings
{
    /** The key of the user variables: what an app has set with `SET @name`. */
    public const VARIABLES = 'user_variables';
    /** Attributes of PDO itself, with words for their numeric values. */
    private const ATTRIBUTES = [
        'ATTR_ERRMODE' => ['silent', 'warning', 'exception'],
        'ATTR_CASE' => ['natural', 'upper', 'lower'],
        'ATTR_ORACLE_NULLS' => ['natural', 'empty string to null', 'null to empty string'],
        'ATTR_DEFAULT_FETCH_MODE' => [
            1 => 'lazy', 'assoc', 'num', 'both', 'obj', 'bound', 'column', 'class', 'into',
        ],
        'ATTR_STRINGIFY_FETCHES' => [],
        'ATTR_EMULATE_PREPARES' => [],
        'ATTR_STATEMENT_CLASS' => [],
    ];
    /** Session variables that both MySQL and MariaDB have. */
    private const MYSQL = [
        'sql_mode', 'time_zone', 'autocommit', 'foreign_key_checks', 'unique_checks', 'sql_safe_updates',
        'sql_select_limit', 'sql_auto_is_null', 'sql_big_selects', 'character_set_client',
        'character_set_connection', 'character_set_results', 'collation_connection', 'lc_time_names',
        'group_concat_max_len', 'div_precision_increment', 'default_week_format', 'wait_timeout',
        'lock_wait_timeout',
    ];
    private const MYSQL_OWN = ['transaction_isolation', 'transaction_read_only', 'max_execution_time'];
    private const MARIADB_OWN = ['tx_isolation', 'tx_read_only', 'max_statement_time'];
    private const MARIADB_VARIABLES = '(SELECT GROUP_CONCAT(VARIABLE_NAME, 0x3d, VARIABLE_VALUE'
        . ' ORDER BY VARIABLE_NAME SEPARATOR 0x3b20) FROM information_schema.USER_VARIABLES)';
    private const POSTGRESQL = [
        'search_path', 'role', 'session_authorization', 'TimeZone', 'DateStyle', 'IntervalStyle',
        'client_encoding', 'client_min_messages', 'default_transaction_isolation',
        'default_transaction_read_only', 'statement_timeout', 'lock_timeout',
        'idle_in_transaction_session_timeout', 'work_mem', 'synchronous_commit', 'row_security',
        'session_replication_role', 'standard_conforming_strings', 'bytea_output', 'extra_float_digits',
        'lc_messages', 'lc_monetary', 'lc_numeric', 'lc_time', 'application_name', 'enable_seqscan',
        'default_text_search_config',
    ];
    /** Pragmas that SQLite answers without reading the file. */
    private const SQLITE = [
        'foreign_keys', 'recursive_triggers', 'defer_foreign_keys', 'ignore_check_constraints',
        'read_uncommitted', 'query_only', 'reverse_unordered_selects', 'case_sensitive_like', 'temp_store',
        'cache_spill', 'automatic_index', 'trusted_schema',
    ];
    /** Pragmas that read the file's schema, and would wait for a lock on the file. */
    private const SQLITE_OF_FILE = ['synchronous', 'cache_size', 'journal_mode', 'locking_mode'];

    /**
     * @param Connection $connection
     * @return ?array<string, string> null: the connection cannot be asked now
     */
    public static function read(object $connection): ?array
    {
        try {
            $settings = self::isBusy($connection) ? [] : self::attributes($connection) + self::query($connection);

            return $settings ?: null;
        } catch (\Throwable) {
            return null;   // it was never connected, or is no longer connected
        }
    }

    /** @param Connection $connection */
    public static function driver(object $connection): string
    {
        try {
            return match (true) {
                $connection instanceof \PDO => self::attribute($connection, \PDO::ATTR_DRIVER_NAME),
                $connection instanceof \mysqli => 'mysql',
                $connection instanceof \SQLite3 => 'sqlite',
                default => 'pgsql',
            };
        } catch (\Throwable) {
            return 'connection';
        }
    }

    /** @param Connection $connection */
    public static function isInTransaction(object $connection): bool
    {
        try {
            return $connection instanceof \PDO && (bool) self::callPdo($connection, 'inTransaction');
        } catch (\Throwable) {
            return false;   // it was never connected
        }
    }

    /**
     * Tells whether a query would change what the app sees next. MySQL's client forgets the last
     * inserted id with any query. The first query of a PostgreSQL transaction fixes what that
     * transaction sees, and a failed transaction accepts none.
     *
     * @param Connection $connection
     */
    private static function isBusy(object $connection): bool
    {
        return match (true) {
            $connection instanceof \mysqli => $connection->insert_id !== 0,
            $connection instanceof \SQLite3 => false,
            $connection instanceof \PDO => match (self::driver($connection)) {
                'mysql' => !in_array(self::callPdo($connection, 'lastInsertId'), ['0', '', false], true),
                'pgsql' => self::isInTransaction($connection),
                default => false,
            },
            default => pg_connection_busy($connection) || pg_transaction_status($connection) !== PGSQL_TRANSACTION_IDLE,
        };
    }

    /**
     * @param Connection $connection
     * @return array<string, string>
     */
    private static function attributes(object $connection): array
    {
        $settings = [];
        foreach ($connection instanceof \PDO ? self::ATTRIBUTES : [] as $name => $words) {
            try {
                /** @var int|bool|string|null|array{0?: string} $value */
                $value = self::callPdo($connection, 'getAttribute', constant("PDO::$name"));
            } catch (\Throwable) {
                continue;   // not every driver has every attribute
            }
            $value = is_array($value) ? $value[0] ?? '' : $value;
            $settings[$name] = (string) ($words[is_bool($value) ? -1 : $value] ?? (int) $value);
            is_string($value) && $settings[$name] = $value;
        }

        return $settings;
    }

    /**
     * @param Connection $connection
     * @return array<string, string>
     */
    private static function query(object $connection): array
    {
        return match (self::driver($connection)) {
            'mysql' => self::mysql($connection),
            'pgsql' => self::postgresql($connection),
            'sqlite' => self::sqlite($connection),
            default => [],
        };
    }

    /**
     * @param Connection $connection
     * @return array<string, string>
     */
    private static function mysql(object $connection): array
    {
        $version = $connection instanceof \mysqli
            ? $connection->server_info
            : self::attribute($connection, \PDO::ATTR_SERVER_VERSION);
        $isMaria = str_contains($version, 'MariaDB');
        $names = [...self::MYSQL, ...($isMaria ? self::MARIADB_OWN : self::MYSQL_OWN)];
        $values = array_map(static fn (string $name): string => "@@session.$name", $names);
        $more = ['database' => 'DATABASE()'] + ($isMaria ? [self::VARIABLES => self::MARIADB_VARIABLES] : []);

        return self::fetchNamed($connection, array_combine($names, $values) + $more);
    }

    /**
     * @param Connection $connection
     * @return array<string, string>
     */
    private static function postgresql(object $connection): array
    {
        $values = array_map(static fn (string $name): string => "current_setting('$name', true)", self::POSTGRESQL);

        return self::fetchNamed($connection, array_combine(self::POSTGRESQL, $values));
    }

    /**
     * @param Connection $connection
     * @return array<string, string>
     */
    private static function sqlite(object $connection): array
    {
        $pragma = static fn (string $name): string => (string) (self::fetchFirst($connection, "PRAGMA $name")[0] ?? '');
        $settings = ['busy_timeout' => $pragma('busy_timeout')];
        foreach (self::SQLITE as $name) {
            $settings[$name] = $pragma($name);
        }
        $waits = (int) $settings['busy_timeout'];
        try {
            if ($waits > 0) {
                $pragma('busy_timeout = 0');
            }
            foreach (self::SQLITE_OF_FILE as $name) {
                $settings[$name] = $pragma($name);
            }
        } finally {
            if ($waits > 0) {
                $pragma("busy_timeout = $waits");
            }
        }
        // The file itself keeps this mode, so PHP-FPM finds it too: it does not count as a change.
        $settings['journal_mode'] === 'wal' && $settings['journal_mode'] = 'delete';

        return array_filter($settings, static fn (string $value): bool => $value !== '');
    }

    /**
     * @param Connection $connection
     * @param array<string, string> $values expressions by names
     * @return array<string, string> the expressions' values, by the same names
     */
    private static function fetchNamed(object $connection, array $values): array
    {
        $row = self::fetchFirst($connection, 'SELECT ' . implode(', ', $values));

        return $row === [] ? [] : array_combine(array_keys($values), array_map('strval', $row));
    }

    /**
     * @param Connection $connection
     * @return list<scalar|null> the first row; empty if there is none
     */
    private static function fetchFirst(object $connection, string $query): array
    {
        if ($connection instanceof \PDO) {
            $plain = [\PDO::ATTR_STATEMENT_CLASS => [\PDOStatement::class]];
            // Otherwise the server would prepare the query, which takes a second round trip.
            self::driver($connection) === 'sqlite' || $plain[\PDO::ATTR_EMULATE_PREPARES] = true;
            /** @var \PDOStatement|false $statement */
            $statement = self::callPdo($connection, 'prepare', $query, $plain);
            /** @var list<list<scalar|null>> $rows */
            $rows = $statement && $statement->execute() ? $statement->fetchAll(\PDO::FETCH_NUM) : [];

            return $rows[0] ?? [];
        }
        $method = static fn (string $class, string $name): mixed
            => (new \ReflectionMethod($class, $name))->invoke($connection, $query);
        $result = match (true) {
            $connection instanceof \mysqli => $method(\mysqli::class, 'query'),
            $connection instanceof \SQLite3 => $method(\SQLite3::class, 'query'),
            default => pg_query($connection, $query),
        };
        /** @var list<scalar|null>|false|null $row */
        $row = match (true) {
            $result instanceof \mysqli_result => $result->fetch_row(),
            $result instanceof \SQLite3Result => $result->fetchArray(SQLITE3_NUM),
            $result instanceof \PgSql\Result => pg_fetch_row($result),
            default => null,
        };

        return $row ?: [];
    }

    /** @return string an attribute of PDO; empty if it is none */
    private static function attribute(object $connection, int $attribute): string
    {
        $value = self::callPdo($connection, 'getAttribute', $attribute);

        return is_scalar($value) ? (string) $value : '';
    }

    private static function callPdo(object $connection, string $method, mixed ...$arguments): mixed
    {
        return (new \ReflectionMethod(\PDO::class, $method))->invoke($connection, ...$arguments);
    }
}
