<?php

declare(strict_types=1);

namespace Stampede\Worker\Tests;

use PHPUnit\Framework\TestCase;
use Stampede\Worker\Check\Connections;
use Stampede\Worker\Check\ConnectionSettings;

/** Tests what `stampede check` learns about database connections that outlive a request. */
final class CheckConnectionSettingsTest extends TestCase
{
    /** Keeps a connection. Each path is a query, without its first letter. */
    private const HANDLER = '<?php
        class Own extends PDO {
            public function query(string $q, ?int $m = null, mixed ...$more): PDOStatement|false { exit("asked"); }
            public function prepare(string $q, array $o = []): PDOStatement|false { exit("asked"); }
            public function getAttribute(int $a): mixed { exit("asked"); } }
        class Statement extends PDOStatement { private function __construct() { exit("made"); } }
        class Shop { public static ?PDO $db = null; }
        return static function (array $server): array {
            $path = rawurldecode(substr($server["REQUEST_URI"], 1));
            if ($path === "") { return ["status" => 200]; }
            Shop::$db ??= new Own("sqlite::memory:");
            $path[0] === "q" && Shop::$db->exec(substr($path, 1));
            $path[0] === "a" && Shop::$db->setAttribute(...json_decode(substr($path, 1)));
            $path[0] === "s" && Shop::$db->setAttribute(PDO::ATTR_STATEMENT_CLASS, [Statement::class]);
            $path[0] === "x" && Shop::$db = null;
            return ["status" => 200, "body" => $path[0] === "i" ? Shop::$db->lastInsertId() : ""]; };';

    /** @param list<string> $paths */
    private static function runWorker(array $paths): RecordedWorker
    {
        if (!is_file(ini_get('extension_dir') . '/pdo_sqlite.so')) {
            self::markTestSkipped('no pdo_sqlite of its own');
        }
        $targets = array_map(static fn (string $path): string => '/' . rawurlencode($path), $paths);
        $recorded = new RecordedWorker(self::HANDLER, $targets, options: [
            '-d', 'extension=pdo.so', '-d', 'extension=pdo_sqlite.so',
        ]);
        self::assertSame('', $recorded->output);
        self::assertSame([], $recorded->linesOf('failed'));

        return $recorded;
    }

    /** @return list<?string> the setting's value after each request */
    private static function settings(RecordedWorker $recorded, string $name): array
    {
        $of = static fn (array $line): ?string => $line['state']["db:$name Shop::\$db"] ?? null;

        return array_map($of, $recorded->linesOf('end'));
    }

    public function testASettingOfSqliteIsToldFromTheRequestOnThatChangedIt(): void
    {
        $recorded = self::runWorker(['', 'o', 'qPRAGMA foreign_keys = ON', 'o', 'qPRAGMA synchronous = OFF', 'x']);
        self::assertSame([null, '0', '1', '1', '1', null], self::settings($recorded, 'foreign_keys'));
        self::assertSame([null, '2', '2', '2', '0', null], self::settings($recorded, 'synchronous'));
        $begins = $recorded->linesOf('begin');
        self::assertSame('1', $begins[3]['state']['db:foreign_keys Shop::$db'], 'what the scan before has found');
        $timeouts = self::settings($recorded, 'busy_timeout');
        self::assertSame([null, '60000', '60000', '60000', '60000', null], $timeouts, 'it is put back');
    }

    public function testAttributesOfPdoAreToldInWords(): void
    {
        $mode = json_encode([\PDO::ATTR_DEFAULT_FETCH_MODE, \PDO::FETCH_OBJ]);
        $silent = json_encode([\PDO::ATTR_ERRMODE, \PDO::ERRMODE_SILENT]);
        $recorded = self::runWorker(['o', "a$mode", "a$silent", 'o']);
        self::assertSame(['both', 'obj', 'obj', 'obj'], self::settings($recorded, 'ATTR_DEFAULT_FETCH_MODE'));
        self::assertSame(['exception', 'exception', 'silent', 'silent'], self::settings($recorded, 'ATTR_ERRMODE'));
    }

    public function testNoCodeOfTheAppsRunsAndNothingIsTakenFromIt(): void
    {
        $recorded = self::runWorker(['qCREATE TABLE t (a)', 'qINSERT INTO t VALUES (1), (2)', 's', 'i', 'qBEGIN', 'i']);
        self::assertSame('2', $recorded->bodies[3]);
        self::assertSame('2', $recorded->bodies[5]);
        self::assertSame('Statement', self::settings($recorded, 'ATTR_STATEMENT_CLASS')[2]);
    }

    public function testAConnectionThatWasNeverMadeIsNotAsked(): void
    {
        $connections = new Connections();
        $unmade = (new \ReflectionClass(\PDO::class))->newInstanceWithoutConstructor();
        $connections->add($unmade, 'A::$db');
        $connections->add($unmade, 'B::$db');
        $connections->add((object) [], 'C::$db');
        self::assertSame([1, 0], [$connections->count(), $connections->countTransactions()]);
        self::assertSame([], $connections->readSettings([]));
        $known = ['A::$db' => ['sql_mode' => 'ANSI']];
        self::assertSame($known, $connections->readSettings($known), 'as it was');
    }

    public function testConnectionsOfOneHolderAreNumbered(): void
    {
        $connections = new Connections();
        foreach (range(1, 12) as $ignored) {
            $connections->add(new \SQLite3(':memory:'), 'App\Pool::$all');
        }
        $sessions = $connections->readSettings([]);
        self::assertSame(12, $connections->count());
        self::assertCount(8, $sessions, 'of more only the number is told');
        self::assertSame(['App\Pool::$all', 'App\Pool::$all #2'], array_slice(array_keys($sessions), 0, 2));
        self::assertSame('0', $sessions['App\Pool::$all']['foreign_keys']);
        self::assertSame('sqlite', ConnectionSettings::driver(new \SQLite3(':memory:')));
    }

    public function testOnlyTheirNumberIsToldWhereOnlyGrowthIsAsked(): void
    {
        $handler = '<?php return static function (): array { static $all = []; $all[] = new SQLite3(":memory:");
            return ["status" => 200]; };';
        $recorded = new RecordedWorker($handler, ['/', '/', '/'], ['check/mode' => 'light'], options: [
            '-d', 'extension=sqlite3.so',
        ]);
        self::assertSame('', $recorded->output);
        self::assertSame([1, 2, 3], array_column($recorded->linesOf('end'), 'connections'));
    }
}
