<?php

declare(strict_types=1);

namespace Stampede\Worker\Tests;

use PHPUnit\Framework\TestCase;
use Stampede\Worker\PhpPm\Bridge;

/** @requires extension pcntl */
final class PhpPmTest extends TestCase
{
    /** @param array<string, mixed> $settings */
    private static function served(string $handler, array $settings = []): Served
    {
        return new Served('PhpPm', ['psr', 'react', 'phppm'], $handler, $settings);
    }

    public function testItsWorkersBootTheAppByPhpIni(): void
    {
        $handler = 'if ($server["REQUEST_URI"] === "/2") { throw new Error("why"); }
            return ["status" => 200, "body" => $server["REMOTE_ADDR"]];';
        $served = self::served($handler, ['workers' => 3, 'max_requests' => 1]);
        self::assertSame(0, $served->ended(), $served->log());
        [$error, $said] = explode("\n", $served->log());
        self::assertStringStartsWith('stampede: GET /2: Error: why in ', $error);
        [$answers, $told] = json_decode($said, true);
        self::assertSame(['200 10.0.0.1', '500 ', '200 10.0.0.1'], $answers);
        self::assertSame([3, 1, Bridge::class], [$told['workers'], $told['setMaxRequests'], $told['setBridge']]);
    }

    public function testABufferOfPhpItselfIsNotTakenForTheGuard(): void
    {
        $served = self::served('<?php ob_start(); return static function (): array {
            set_error_handler(static fn (int $code, string $text) => throw new Error($text));
            echo "printed ";

            return ["status" => 200, "body" => "x"];
        };');
        self::assertSame(0, $served->ended(), $served->log());
        self::assertSame(array_fill(0, 3, '200 printed x'), json_decode($served->log(), true)[0]);
    }

    public function testNoLimitIsNotOneRequest(): void
    {
        $served = self::served('return ["status" => 200, "body" => ""];');
        self::assertSame(0, $served->ended(), $served->log());
        self::assertSame(PHP_INT_MAX, json_decode($served->log(), true)[1]['setMaxRequests']);
    }

    public function testAFirstBootThatFailsIsSaid(): void
    {
        $served = self::served('(');
        self::assertSame(1, $served->ended());
        self::assertStringStartsWith('stampede: the worker ends: ParseError: ', $served->log());
    }

    /** Like the loaders of Composer and Debian: a loader added later is asked later. */
    private const LOADER = 'spl_autoload_register(static function (string $class): void {
        [$space, $name] = explode("\\\\", $class) + ["", ""];
        $name === "Both" && eval("namespace $space; class Both { const OF = \"%s\"; }");
    });';

    public function testOfSymfonyItTakesTheAppsVersionAndOfReactPhpItsOwn(): void
    {
        $handler = 'return ["status" => 200, "body" => \React\Both::OF . " " . \Symfony\Both::OF];';
        $theirs = tempnam(sys_get_temp_dir(), 'stampede-ppm-');
        file_put_contents($theirs, '<?php ' . sprintf(self::LOADER, 'php-pm'));
        $files = ['autoload.php' => '<?php ' . sprintf(self::LOADER, 'the app')];
        $served = new Served('PhpPm', ['psr', 'react', 'phppm', $theirs], $handler, [], $files);
        self::assertSame(0, $served->ended(), $served->log());
        unlink($theirs);
        self::assertSame('200 php-pm the app', json_decode($served->log(), true)[0][0]);
    }
}
