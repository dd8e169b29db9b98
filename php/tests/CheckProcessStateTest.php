<?php

declare(strict_types=1);

namespace Stampede\Worker\Tests;

use PHPUnit\Framework\TestCase;

/** Tests what `stampede check` learns about state that a request leaves to the next one. */
final class CheckProcessStateTest extends TestCase
{
    /** Runs the code in a request to /set, and sends another request afterwards. */
    private static function after(string $code, string $then = ''): RecordedWorker
    {
        $recorded = new RecordedWorker(
            "if (\$server['REQUEST_URI'] === '/set') { $code } $then
            return ['status' => 200, 'body' => 'fine'];",
            ['/', '/set', '/'],
        );
        self::assertSame(['', ['fine', 'fine', 'fine']], [$recorded->output, $recorded->bodies]);

        return $recorded;
    }

    /**
     * @return iterable<string, array{string, string, mixed}> code, key, and the key's value
     *     afterwards
     */
    public static function changes(): iterable
    {
        yield 'locale' => ["setlocale(LC_TIME, 'C.UTF-8');", 'locale', null];
        yield 'timezone' => ["date_default_timezone_set('Europe/Berlin');", 'timezone', 'Europe/Berlin'];
        yield 'ini' => ["ini_set('precision', '4');", 'ini:precision', '4'];
        yield 'error reporting' => ['error_reporting(7);', 'error_reporting', 7];
        yield 'named handler' => ["set_error_handler('var_dump');", 'error_handler', 'var_dump'];
        yield 'closure as handler' => [
            'set_error_handler(static fn () => true);', 'error_handler', 'closure handler.php:1',
        ];
        yield 'method as handler' => [
            "set_exception_handler([new ArrayObject(), 'count']);",
            'exception_handler', 'ArrayObject::count',
        ];
        yield 'umask' => ['umask(0027);', 'umask', '0027'];
        yield 'environment' => ["putenv('STAMPEDE_X=1');", 'env:STAMPEDE_X', '1'];
        yield 'environment that is secret' => [
            "putenv('MY_PASSWORD=1');", 'env:MY_PASSWORD', '#6b86b273ff34',
        ];
        yield 'environment array' => ["\$_ENV['STAMPEDE_X'] = '1';", '_ENV:STAMPEDE_X', '1'];
        yield 'global' => ["\$GLOBALS['basket'] = [1, 2];", 'globals:basket', 'array of 2'];
        yield 'global object' => ["\$GLOBALS['o'] = new ArrayObject();", 'globals:o', 'ArrayObject'];
        yield 'global text' => ["\$GLOBALS['text'] = 'a';", 'globals:text', 'string a'];
        yield 'libxml' => ['libxml_use_internal_errors(true);', 'libxml_errors', 'kept, 0'];
        yield 'gc' => ['gc_disable();', 'gc', false];
        yield 'streams' => ["stream_wrapper_register('own', ArrayObject::class);", 'streams', null];
        yield 'constant' => ["define('STAMPEDE_X', 1);", 'constants', 1];
        yield 'autoloader' => ['spl_autoload_register(static function (): void {});', 'autoloaders', 2];
        yield 'session' => ["session_id('abc');", 'session', 'none #ba7816bf8f01'];
    }

    /** @dataProvider changes */
    public function testWhatOneRequestSetsTheNextOneFinds(string $code, string $key, mixed $value): void
    {
        $recorded = self::after($code);
        [$first, $second, $third] = $recorded->linesOf('end');
        self::assertArrayHasKey($key, $recorded->linesOf('boot')[0]['state'] + [$key => null]);
        self::assertArrayNotHasKey($key, $first['state']);
        self::assertArrayHasKey($key, $second['state']);
        self::assertArrayHasKey($key, $third['state']);
        self::assertSame($second['state'][$key], $recorded->stateBefore($key));
        $value === null || self::assertSame($value, $recorded->stateBefore($key));
        self::assertNotSame($recorded->linesOf('boot')[0]['state'][$key] ?? null, $recorded->stateBefore($key));
    }

    public function testNothingIsToldOfAnAppThatLeavesNothing(): void
    {
        $recorded = self::after('', "\$a = \$_GET + \$_COOKIE; echo ''; ob_start(); ob_end_clean();");
        $all = ['boot', 'begin', 'end', 'begin', 'end', 'begin', 'end'];
        self::assertSame($all, array_column($recorded->lines, 'at'));
        foreach ([...$recorded->linesOf('begin'), ...$recorded->linesOf('end')] as $line) {
            self::assertSame([[], []], [$line['state'], $line['gone']]);
        }
        self::assertSame(['0', '1', '2'], array_column($recorded->linesOf('begin'), 'n'));
        self::assertSame(['0', '1', '2'], array_column($recorded->linesOf('end'), 'n'));
    }

    public function testABufferAndADirectoryAreToldThoughTheNextRequestDoesNotFindThem(): void
    {
        $recorded = self::after("ob_start(); ob_start(); chdir('/');");
        $left = array_column($recorded->linesOf('end'), 'state');
        self::assertSame([[], ['ob_level' => 2, 'cwd' => '/'], []], $left);
        self::assertSame('/', $recorded->stateBefore('cwd'), 'until its own is entered');
        self::assertNull($recorded->stateBefore('ob_level'));
    }

    public function testWhatVanishesIsToldByItsKey(): void
    {
        $recorded = new RecordedWorker(
            "putenv('STAMPEDE_GONE'); return ['status' => 200];",
            ['/'],
            ['check/none' => ''],
            "putenv('STAMPEDE_GONE=here');",
        );
        self::assertSame('here', $recorded->linesOf('boot')[0]['state']['env:STAMPEDE_GONE']);
        self::assertSame([], $recorded->linesOf('begin')[0]['gone']);
        self::assertSame(['env:STAMPEDE_GONE'], $recorded->linesOf('end')[0]['gone']);
    }

    public function testABootTellsWhoItIs(): void
    {
        $recorded = new RecordedWorker("return ['status' => 200];", []);
        [$boot] = $recorded->lines;
        $file = basename((glob("{$recorded->scratch->directory}/check/*.ndjson") ?: [''])[0], '.ndjson');
        self::assertSame($file, $boot['worker']);
        self::assertMatchesRegularExpression("/^{$boot['pid']}-[0-9a-f]{12}$/", $file);
        self::assertSame($boot['pid'], $boot['thread']);
        self::assertGreaterThan(100_000, $boot['memory']);
        self::assertSame('UTC', $boot['state']['timezone']);
    }

    public function testAWorkerThatDiesHasBegunAndNotEnded(): void
    {
        $handler = 'if ($server["REQUEST_URI"] === "/exit") { exit; } return ["status" => 200];';
        $recorded = new RecordedWorker($handler, ['/', '/exit', '/']);
        self::assertSame(['boot', 'begin', 'end', 'begin'], array_column($recorded->lines, 'at'));
        self::assertSame('1', $recorded->lines[3]['n']);
        $recorded = new RecordedWorker('nothing_of_that_name(); return [];', ['/', '/']);
        self::assertCount(2, $recorded->linesOf('end'), 'an exception ends no worker');
    }

    public function testATransactionThatIsOpenIsToldUntilItEnds(): void
    {
        $sqlite = ini_get('extension_dir') . '/pdo_sqlite.so';
        if (!is_file($sqlite)) {
            self::markTestSkipped('no pdo_sqlite of its own');
        }
        $handler = '<?php class Own extends PDO { public function inTransaction(): bool { exit("asked"); } }
            return static function (array $server): array { static $db = null;
                $db ??= new Own("sqlite::memory:");
                $path = substr($server["REQUEST_URI"], 1);
                $path === "" || $db->$path();
                return ["status" => 200]; };';
        $recorded = new RecordedWorker($handler, ['/', '/beginTransaction', '/', '/commit'], options: [
            '-d', 'extension=pdo.so', '-d', 'extension=pdo_sqlite.so',
        ]);
        self::assertSame('', $recorded->output);
        $open = static fn (array $line): int => $line['state']['transactions'] ?? 0;
        self::assertSame([0, 1, 1, 0], array_map($open, $recorded->linesOf('end')));
        self::assertSame([0, 0, 1, 1], array_map($open, $recorded->linesOf('begin')));
    }

    public function testALongValueIsToldByItsBeginningAndAHash(): void
    {
        $recorded = self::after("\$GLOBALS['text'] = str_repeat('é', 500) . \"\\xff\";");
        $value = $recorded->stateAfter('globals:text');
        self::assertStringStartsWith('string éé', $value);
        self::assertMatchesRegularExpression('/ … #[0-9a-f]{12}$/', $value);
        self::assertLessThan(200, strlen($value));
    }
}
