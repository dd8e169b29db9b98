<?php

declare(strict_types=1);

namespace Stampede\Worker\Tests;

use PHPUnit\Framework\TestCase;
use Stampede\Worker\Check\Connections;
use Stampede\Worker\Check\Session;

/** Tests what `stampede check` learns about database connections that outlive a request. */
final class CheckSessionTest extends TestCase
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
    private static function worked(array $paths): Checked
    {
        if (!is_file(ini_get('extension_dir') . '/pdo_sqlite.so')) {
            self::markTestSkipped('no pdo_sqlite of its own');
        }
        $targets = array_map(static fn (string $path): string => '/' . rawurlencode($path), $paths);
        $checked = new Checked(self::HANDLER, $targets, options: [
            '-d', 'extension=pdo.so', '-d', 'extension=pdo_sqlite.so',
        ]);
        self::assertSame('', $checked->said);
        self::assertSame([], $checked->at('failed'));

        return $checked;
    }

    /** @return list<?string> the setting's value after each request */
    private static function settings(Checked $checked, string $name): array
    {
        $of = static fn (array $line): ?string => $line['state']["db:$name Shop::\$db"] ?? null;

        return array_map($of, $checked->at('end'));
    }

    public function testASettingOfSqliteIsToldFromTheRequestOnThatChangedIt(): void
    {
        $checked = self::worked(['', 'o', 'qPRAGMA foreign_keys = ON', 'o', 'qPRAGMA synchronous = OFF', 'x']);
        self::assertSame([null, '0', '1', '1', '1', null], self::settings($checked, 'foreign_keys'));
        self::assertSame([null, '2', '2', '2', '0', null], self::settings($checked, 'synchronous'));
        $begins = $checked->at('begin');
        self::assertSame('1', $begins[3]['state']['db:foreign_keys Shop::$db'], 'what the look before has found');
        $timeouts = self::settings($checked, 'busy_timeout');
        self::assertSame([null, '60000', '60000', '60000', '60000', null], $timeouts, 'it is put back');
    }

    public function testAttributesOfPdoAreToldInWords(): void
    {
        $mode = json_encode([\PDO::ATTR_DEFAULT_FETCH_MODE, \PDO::FETCH_OBJ]);
        $silent = json_encode([\PDO::ATTR_ERRMODE, \PDO::ERRMODE_SILENT]);
        $checked = self::worked(['o', "a$mode", "a$silent", 'o']);
        self::assertSame(['both', 'obj', 'obj', 'obj'], self::settings($checked, 'ATTR_DEFAULT_FETCH_MODE'));
        self::assertSame(['exception', 'exception', 'silent', 'silent'], self::settings($checked, 'ATTR_ERRMODE'));
    }

    public function testNoCodeOfTheAppsRunsAndNothingIsTakenFromIt(): void
    {
        $checked = self::worked(['qCREATE TABLE t (a)', 'qINSERT INTO t VALUES (1), (2)', 's', 'i', 'qBEGIN', 'i']);
        self::assertSame('2', $checked->bodies[3]);
        self::assertSame('2', $checked->bodies[5]);
        self::assertSame('Statement', self::settings($checked, 'ATTR_STATEMENT_CLASS')[2]);
    }

    public function testAConnectionThatWasNeverMadeIsNotAsked(): void
    {
        $connections = new Connections();
        $unmade = (new \ReflectionClass(\PDO::class))->newInstanceWithoutConstructor();
        $connections->meet($unmade, 'A::$db');
        $connections->meet($unmade, 'B::$db');
        $connections->meet((object) [], 'C::$db');
        self::assertSame([1, 0, []], [$connections->count(), $connections->transactions(), $connections->sessions([])]);
        $known = ['A::$db' => ['sql_mode' => 'ANSI']];
        self::assertSame($known, $connections->sessions($known), 'as it was');
    }

    public function testConnectionsOfOneHolderAreNumbered(): void
    {
        $connections = new Connections();
        foreach (range(1, 12) as $ignored) {
            $connections->meet(new \SQLite3(':memory:'), 'App\Pool::$all');
        }
        $sessions = $connections->sessions([]);
        self::assertSame(12, $connections->count());
        self::assertCount(8, $sessions, 'of more only the number is told');
        self::assertSame(['App\Pool::$all', 'App\Pool::$all #2'], array_slice(array_keys($sessions), 0, 2));
        self::assertSame('0', $sessions['App\Pool::$all']['foreign_keys']);
        self::assertSame('sqlite', Session::driver(new \SQLite3(':memory:')));
    }

    public function testOnlyTheirNumberIsToldWhereOnlyGrowthIsAsked(): void
    {
        $handler = '<?php return static function (): array { static $all = []; $all[] = new SQLite3(":memory:");
            return ["status" => 200]; };';
        $checked = new Checked($handler, ['/', '/', '/'], ['check/mode' => 'light'], options: [
            '-d', 'extension=sqlite3.so',
        ]);
        self::assertSame('', $checked->said);
        self::assertSame([1, 2, 3], array_column($checked->at('end'), 'connections'));
    }
}
