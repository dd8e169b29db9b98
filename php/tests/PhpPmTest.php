<?php

declare(strict_types=1);

namespace Stampede\Worker\Tests;

use PHPUnit\Framework\TestCase;
use Stampede\Worker\PhpPm\Bridge;

/** @requires extension pcntl */
final class PhpPmTest extends TestCase
{
    /** @param array<string, mixed> $settings */
    private static function start(string $handler, array $settings = []): WorkerProcess
    {
        return new WorkerProcess('PhpPm', ['psr', 'react', 'phppm'], $handler, $settings);
    }

    public function testItsWorkersBootTheAppByPhpIni(): void
    {
        $handler = 'if ($server["REQUEST_URI"] === "/2") { throw new Error("why"); }
            return ["status" => 200, "body" => $server["REMOTE_ADDR"]];';
        $process = self::start($handler, ['workers' => 3, 'max_requests' => 1]);
        self::assertSame(0, $process->waitForExit(), $process->log());
        [$error, $said] = explode("\n", $process->log());
        self::assertStringStartsWith('stampede: GET /2: Error: why in ', $error);
        [$answers, $options] = json_decode($said, true);
        self::assertSame(['200 10.0.0.1', '500 ', '200 10.0.0.1'], $answers);
        $shown = [$options['workers'], $options['setMaxRequests'], $options['setBridge']];
        self::assertSame([3, 1, Bridge::class], $shown);
    }

    public function testABufferOfPhpItselfIsNotTakenForTheGuard(): void
    {
        $process = self::start('<?php ob_start(); return static function (): array {
            set_error_handler(static fn (int $code, string $text) => throw new Error($text));
            echo "printed ";

            return ["status" => 200, "body" => "x"];
        };');
        self::assertSame(0, $process->waitForExit(), $process->log());
        self::assertSame(array_fill(0, 3, '200 printed x'), json_decode($process->log(), true)[0]);
    }

    public function testNoLimitIsNotOneRequest(): void
    {
        $process = self::start('return ["status" => 200, "body" => ""];');
        self::assertSame(0, $process->waitForExit(), $process->log());
        self::assertSame(PHP_INT_MAX, json_decode($process->log(), true)[1]['setMaxRequests']);
    }

    public function testADeprecationInItsOwnCodeDoesNotEndIt(): void
    {
        $theirs = tempnam(sys_get_temp_dir(), 'stampede-ppm-');
        file_put_contents($theirs, '<?php ini_set("error_log", "/dev/null"); const OLD_CODE = true;');
        $handler = 'return ["status" => 200, "body" => "x"];';
        $process = new WorkerProcess('PhpPm', ['psr', 'react', 'phppm', $theirs], $handler);
        self::assertSame(0, $process->waitForExit(), $process->log());
        unlink($theirs);
        self::assertStringStartsWith('PHP Deprecated:  old code in ', $process->log());
        self::assertStringContainsString('"200 x"', $process->log());
    }

    public function testAFirstBootThatFailsIsSaid(): void
    {
        $process = self::start('(');
        self::assertSame(1, $process->waitForExit());
        self::assertStringStartsWith('stampede: the worker ends: ParseError: ', $process->log());
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
        $process = new WorkerProcess('PhpPm', ['psr', 'react', 'phppm', $theirs], $handler, [], $files);
        self::assertSame(0, $process->waitForExit(), $process->log());
        unlink($theirs);
        self::assertSame('200 php-pm the app', json_decode($process->log(), true)[0][0]);
    }
}
