<?php

declare(strict_types=1);

namespace Stampede\Worker\Tests;

use PHPUnit\Framework\TestCase;
use Stampede\Worker\Check\StateRecorder;

/** Tests the recorder of `stampede check` itself: when it is active, and that it changes nothing. */
final class CheckTest extends TestCase
{
    /** Reports everything that an app can see of its process. */
    private const SEES = '$old = set_error_handler(null); restore_error_handler();
        trigger_error("noticed", E_USER_NOTICE); @trigger_error("silent", E_USER_NOTICE);
        unset($_SERVER["REQUEST_TIME"], $_SERVER["REQUEST_TIME_FLOAT"]);
        return ["status" => 200, "body" => json_encode([
            is_object($old), $GLOBALS["heard"] ?? [], error_get_last(), get_included_files(),
            $_SERVER, $_GET, $_ENV, ini_get_all(null, false), headers_list(), ob_get_level(),
            error_reporting(), umask(), getcwd(), spl_autoload_functions(), get_declared_classes(),
            array_keys($GLOBALS), json_last_error(), mt_rand(),
        ])];';

    /**
     * @return list<mixed> what the app saw at its third request, without what the test itself adds
     */
    private static function seen(array $files): array
    {
        $before = 'mt_srand(7); set_error_handler(static function (int $kind, string $text): bool {
            $GLOBALS["heard"][] = $text; return true; });';
        $recorded = new RecordedWorker(self::SEES, ['/?a=1', '/', '/?b=2'], $files, $before);
        self::assertSame('', $recorded->output);
        $text = str_replace(basename($recorded->scratch->directory), 'directory', $recorded->bodies[2]);
        $seen = json_decode($text, true, 512, JSON_THROW_ON_ERROR);
        // The recorder's own code is loaded only where the recorder is active.
        $foreign = static fn (string $name): bool => !preg_match('~[\\\\/]Check[\\\\/]~', $name);
        foreach ([3, 14] as $at) {
            $seen[$at] = array_values(array_filter($seen[$at], $foreign));
        }

        return $seen;
    }

    public function testItChangesNothingThatTheAppSees(): void
    {
        $plain = self::seen([]);
        self::assertCount(6, $plain[1], 'its handler hears what it did before');
        self::assertSame($plain, self::seen(['check/none' => '']));
    }

    public function testWithoutADirectoryNothingIsLoadedAndNothingWritten(): void
    {
        $body = 'return ["status" => 200, "body" => implode(" ", get_included_files())];';
        $recorded = new RecordedWorker($body, ['/', '/'], []);
        self::assertSame([], $recorded->lines);
        self::assertStringNotContainsString('Check/Journal', $recorded->bodies[1]);
        $directory = $recorded->scratch->directory;
        self::assertSame([], array_diff(scandir($directory) ?: [], [
            '.', '..', 'handler.php', 'bodies', 'public', 'run.php', 'said',
        ]));
    }

    public function testOnlyGrowthIsToldWhereThatIsAskedFor(): void
    {
        $every = StateRecorder::LIGHT_EVERY;
        $handler = 'static $log = []; $log[] = 1; $GLOBALS["t"] = "stmpd0123456789ab";
            return ["status" => 200];';
        $recorded = new RecordedWorker($handler, array_fill(0, 3 * $every + 1, '/'), ['check/mode' => "light\n"]);
        $numbers = [...range(1, StateRecorder::LIGHT_FIRST), 2 * $every, 3 * $every];
        self::assertSame(['boot', ...array_fill(0, count($numbers), 'end')], array_column($recorded->lines, 'at'));
        foreach ($recorded->linesOf('end') as $at => $line) {
            $served = $numbers[$at];
            $keys = ['at', 'served', 'memory', 'rss', 'files', 'connections', 'sizes'];
            self::assertSame($keys, array_keys($line));
            self::assertSame($served, $line['served']);
            $sizes = ['global $t' => 17, 'closure handler.php:1 static $log' => $served];
            self::assertSame($sizes, array_diff_key($line['sizes'], ['global $argv' => 1]));
        }
    }

    public function testWhatWaitsForTheCollectorOfCyclesIsNoGrowth(): void
    {
        $handler = '$one = new stdClass(); $one->self = $one; $one->text = random_bytes(2000);
            return ["status" => 200];';
        $targets = array_fill(0, 3 * StateRecorder::LIGHT_EVERY, '/');
        $recorded = new RecordedWorker($handler, $targets, ['check/mode' => "light\n"]);
        $memory = array_column($recorded->linesOf('end'), 'memory', 'served');
        $grown = $memory[3 * StateRecorder::LIGHT_EVERY] - $memory[2 * StateRecorder::LIGHT_EVERY];
        // This many requests leave 100 KB in cycles.
        self::assertLessThan(10_000, $grown);
    }

    public function testAnAppThatMakesLookingHardIsStillAnswered(): void
    {
        $handler = '<?php class Odd extends ArrayObject { public $own; public $more; public static $all = [];
            public function __get($name) { throw new Error("asked"); }
            public function __debugInfo(): array { throw new Error("asked"); }
            public function getIterator(): Iterator { throw new Error("asked"); } }
            return static function () { $odd = new Odd([1]); unset($odd->own); $odd->more = 1;
                Odd::$all[] = $odd; Odd::$all["self"] = &Odd::$all; Odd::$all[] = new WeakMap();
                Odd::$all[] = (static function () { yield 1; })(); Odd::$all[] = new ReflectionClass("Odd");
                set_error_handler(static function () { throw new Error("heard"); });
                return ["status" => 200, "body" => "fine"]; };';
        $recorded = new RecordedWorker($handler, ['/', '/']);
        self::assertSame([['fine', 'fine'], ''], [$recorded->bodies, $recorded->output]);
        self::assertSame(['boot', 'begin', 'end', 'begin', 'end'], array_column($recorded->lines, 'at'));
    }

    public function testWhatTheAppForksTellsNothing(): void
    {
        if (!function_exists('pcntl_fork')) {
            self::markTestSkipped('no pcntl');
        }
        $handler = '$child = pcntl_fork(); $child && pcntl_wait($status);
            return ["status" => 200, "body" => $child ? "parent" : "child"];';
        $recorded = new RecordedWorker($handler, ['/']);
        self::assertSame(['child', 'parent'], $recorded->bodies);
        self::assertSame(['boot', 'begin', 'end'], array_column($recorded->lines, 'at'));
    }
}
