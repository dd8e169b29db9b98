<?php

declare(strict_types=1);

namespace Stampede\Worker\Tests;

use PHPUnit\Framework\TestCase;
use Stampede\Worker\Check\AppDirectory;
use Stampede\Worker\Check\Connections;
use Stampede\Worker\Check\Services;
use Stampede\Worker\Check\ValueWalker;

/** Tests what `stampede check` learns about values that outlive their request, and about growth. */
final class CheckRetainedStateTest extends TestCase
{
    private const TOKEN = 'stmpd0123456789ab';

    /**
     * @return iterable<string, array{string, string}> code that stores `$t`, and the expected
     *     holder
     */
    public static function holders(): iterable
    {
        yield 'static property' => ['App\Cart::$user = $t;', 'App\Cart::$user'];
        yield 'private one, deep' => [
            'App\Cart::keep(["a" => [(object) ["b" => [$t => 1]]]]);', 'App\Cart::$kept',
        ];
        yield 'variable of a method' => ['App\Cart::last($t);', 'App\Cart::last() static $last'];
        yield 'variable of a function' => ['App\track($t);', 'function App\track() static $seen'];
        yield 'variable of the handler' => ['$mine[] = $t;', 'closure handler.php:12 static $mine'];
        yield 'what it uses by reference' => ['$used = $t;', 'closure handler.php:12 static $used'];
        yield 'an object that it uses' => ['$cart->item = $t;', 'closure handler.php:12 static $cart'];
        yield 'global' => ['$GLOBALS["basket"] = [[$t]];', 'global $basket'];
        yield 'environment array' => ['$_ENV["A"] = $t;', '$_ENV'];
        yield 'session' => ['$_SESSION = ["a" => $t];', '$_SESSION'];
        yield 'constant' => ['define("MINE", $t);', 'constant MINE'];
        yield 'environment' => ['putenv("MINE=a $t");', 'environment MINE'];
        yield 'ini' => ['ini_set("user_agent", $t);', 'ini user_agent'];
        yield 'closure' => ['App\Cart::$user = static fn () => $t;', 'App\Cart::$user'];
        yield 'array object' => ['App\Cart::$user = new ArrayObject([$t]);', 'App\Cart::$user'];
        yield 'object storage' => [
            'App\Cart::$user = new SplObjectStorage(); App\Cart::$user[(object) [$t]] = 1;',
            'App\Cart::$user',
        ];
        yield 'list' => [
            'App\Cart::$user = new SplQueue(); App\Cart::$user[] = $t;', 'App\Cart::$user',
        ];
        yield 'the end of a long array' => [
            'App\Cart::$user = [...array_fill(0, 9000, 1), $t];', 'App\Cart::$user',
        ];
    }

    private static function app(string $code): string
    {
        return '<?php namespace App; use ArrayObject; use SplQueue; use SplObjectStorage;
            class Cart { public static $user; private static array $kept = []; public $item;
                public static \DateTime $unset;
                public static function keep($all) { self::$kept[] = $all; }
                public static function last($t) { static $last; $last = $t; }
                public function __get($name) { exit("asked for $name"); } }
            class Made { public static $here = 1; }
            function track($t) { static $seen = []; $seen[] = $t; }
            $used = null; $cart = new Cart();


            return static function (array $server) use (&$used, $cart): array { static $mine = [];
                $t = substr($server["REQUEST_URI"], 1);
                if ($t !== "") { ' . $code . ' } return ["status" => 200, "body" => "fine"]; };';
    }

    /** @dataProvider holders */
    public function testATokenIsFoundWhereItIsKept(string $code, string $where): void
    {
        $code = str_replace('App\\', '\App\\', $code);
        $recorded = new RecordedWorker(self::app($code), ['/', '/' . self::TOKEN, '/']);
        self::assertSame('', $recorded->output);
        [$first, $second, $third] = array_column($recorded->linesOf('end'), 'held');
        self::assertSame([], $first);
        self::assertSame([['where' => $where, 'token' => self::TOKEN]], $second);
        self::assertSame($second, $third, 'as long as it is there');
    }

    public function testWhatGoesWithTheRequestIsNotHeld(): void
    {
        $recorded = new RecordedWorker(
            '$_GET["x"] = $_SERVER["x"] = "' . self::TOKEN . '"; $cycle = (object) []; $cycle->own = [$cycle, $_GET];
            return ["status" => 200, "body" => json_encode($_GET)];',
            ['/?a=' . self::TOKEN],
        );
        self::assertSame([[]], array_column($recorded->linesOf('end'), 'held'));
    }

    public function testNeitherPackagesNorWhatIsElsewhereIsLookedAt(): void
    {
        $class = '<?php namespace Lib; class Log { public static $last; }';
        $recorded = new RecordedWorker(
            'Lib\Log::$last = substr($server["REQUEST_URI"], 1); return ["status" => 200];',
            ['/' . self::TOKEN],
            ['check/none' => '', 'vendor/lib.php' => $class, 'vendor/autoload.php' => '<?php require "lib.php";'],
        );
        self::assertSame([], $recorded->linesOf('end')[0]['held']);
    }

    public function testWhatGrowsIsToldWithHowMuchItHolds(): void
    {
        $code = '\App\Cart::keep(["x", ["y"]]); $mine[] = 1; \App\Cart::$user .= "ab";';
        $recorded = new RecordedWorker(self::app($code), ['/', '/1', '/1', '/', '/1'], ['check/mode' => 'light']);
        $sizes = array_column($recorded->linesOf('end'), 'sizes');
        unset($sizes[0]['global $argv']);
        $of = static fn (int $times): array => [
            'App\Cart::$kept' => 4 * $times,
            'App\Cart::$user' => 2 * $times,
            'closure handler.php:12 static $mine' => $times,
        ];
        self::assertSame([], $sizes[0]);
        foreach ([$of(1), $of(2), $of(2), $of(3)] as $at => $expected) {
            $own = array_diff_key($sizes[$at + 1], ['global $argv' => 1]);
            ksort($own);
            self::assertSame($expected, $own, "request $at");
        }
    }

    public function testMemoryAndDescriptorsAreToldAsTheyAre(): void
    {
        $recorded = new RecordedWorker(
            '$GLOBALS["open"][] = fopen("/dev/null", "r"); $GLOBALS["text"][] = str_repeat("x", 1 << 20);
            return ["status" => 200];',
            ['/', '/', '/'],
        );
        $ends = $recorded->linesOf('end');
        [$files, $memory] = [array_column($ends, 'files'), array_column($ends, 'memory')];
        self::assertSame([1, 1], [$files[1] - $files[0], $files[2] - $files[1]]);
        self::assertEqualsWithDelta(1 << 20, $memory[2] - $memory[1], 1 << 14);
    }

    public function testAServiceIsFoundInAContainerThatIsNotLookedInto(): void
    {
        $space = 'Own' . bin2hex(random_bytes(4));
        $scratch = new ScratchDirectory(['own.php' => "<?php namespace $space;
            class Last { public \$seen = 'stmpdlast00000000'; }
            class Cart0 { function __construct(private Last \$last) {} }
            class Base { private \$user = 'stmpd0123456789ab'; public static \$made; }
            class Cart extends Base { public \$framework; protected \$old; public \$next;
                function __construct(\$framework, \$old) {
                    [\$this->framework, \$this->old] = [\$framework, \$old]; } }
            return [Cart::class, fn () => 1, new Cart0(new Last())];"]);
        [$class, $closure, $given] = require "{$scratch->directory}/own.php";
        $current = (object) ['request' => 'stmpdcurrent00000'];
        $cart = new $class($current, (object) ['request' => 'stmpdold000000000']);
        $container = (object) ['services' => ['a' => [$current, $cart], 'b' => new \ArrayObject([$closure, $given])]];
        $cart->next = $container;
        $connections = new Connections();
        $services = new Services(new AppDirectory($scratch->directory), $container, $connections);
        $walker = new ValueWalker($services->knownIds(), true, $connections);
        $found = [];
        foreach ($services->values() as $where => $value) {
            $found[$where] = $walker->walk($value, $where)[1];
        }
        self::assertEquals([
            "$space\\Cart->framework" => [],
            "$space\\Cart->old" => ['stmpdold000000000'],
            "$space\\Cart->next" => [],
            "$space\\Cart->user" => ['stmpd0123456789ab'],
            "$space\\Cart0->last" => [],
            "$space\\Last->seen" => ['stmpdlast00000000'],
        ], $found);
    }
}
