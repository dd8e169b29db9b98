<?php

declare(strict_types=1);

namespace Stampede\Worker\Tests;

use PHPUnit\Framework\TestCase;
use Stampede\Worker\Octane\ProcessNames;
use Stampede\Worker\Octane\RecorderListener;
use Stampede\Worker\Octane\Scripts;
use Stampede\Worker\Octane\ServerStateFile;
use Stampede\Worker\Octane\Start;
use Stampede\Worker\Problem;
use Stampede\Worker\Setup;

final class OctaneTest extends TestCase
{
    private const BIN = 'vendor/laravel/octane/bin';
    /** Stands for a script of Octane's; it reports what it finds. */
    private const TELLS = "#!/usr/bin/env php\n" . '<?php $GLOBALS["octane"] = [
        basename(__FILE__), $_SERVER["APP_BASE_PATH"], $_SERVER["argv"][1] ?? null];';

    private const BOOTS = '<?php
        return new Stampede\Worker\Tests\OctaneDouble(dirname(__DIR__));';

    /** @var array<string, mixed> */
    private array $server;

    protected function setUp(): void
    {
        $this->server = $_SERVER;
        unset($GLOBALS['octane'], $_SERVER['argv']);
    }

    protected function tearDown(): void
    {
        $_SERVER = $this->server;
        putenv('APP_BASE_PATH');
    }

    /** @param array<string, mixed> $settings */
    private static function setupFor(ScratchDirectory $app, string $need, array $settings = []): Setup
    {
        is_dir("{$app->directory}/tmp") || mkdir("{$app->directory}/tmp");

        return new Setup(
            $app->directory,
            'laravel',
            "{$app->directory}/public",
            'index.php',
            $app->directory,
            '127.0.0.1',
            80,
            ['php' => 'php', $need => 'x'],
            $settings,
        );
    }

    private static function failureOf(callable $work): string
    {
        try {
            $work();
        } catch (Problem $problem) {
            return $problem->getMessage();
        }
        self::fail('nothing was refused');
    }

    public function testEachServerGetsItsOwnScript(): void
    {
        $scripts = ['rr' => 'roadrunner-worker', 'frankenphp' => 'frankenphp-worker.php'];
        foreach ($scripts as $need => $script) {
            $spiral = ['vendor/spiral/roadrunner-http/composer.json' => '{}'];
            $app = new ScratchDirectory($spiral + [self::BIN . "/$script" => self::TELLS]);
            $this->expectOutputString('');
            Start::worker(self::setupFor($app, $need));
            $base = dirname(__DIR__) . '/src/Octane/base';
            self::assertSame([$script, $base, null], $GLOBALS['octane']);
        }
    }

    public function testWhatTheAppLacksIsSaid(): void
    {
        $app = new ScratchDirectory();
        $start = static function (string $need) use (&$app): void {
            Start::worker(self::setupFor($app, $need));
        };
        $lacks = 'the app has no vendor/laravel/octane: composer require laravel/octane';
        self::assertSame($lacks, self::failureOf(static fn () => $start('rr')));

        $app = new ScratchDirectory([self::BIN . '/roadrunner-worker' => self::TELLS]);
        $lacks = 'the app has no vendor/spiral/roadrunner-http: '
            . 'composer require spiral/roadrunner-http';
        self::assertSame($lacks, self::failureOf(static fn () => $start('rr')));

        $old = "the app's laravel/octane is too old to have `bin/frankenphp-worker.php`";
        self::assertSame($old, self::failureOf(static fn () => $start('frankenphp')));
        self::assertArrayNotHasKey('octane', $GLOBALS);
    }

    public function testSwooleReadsWhatTheAppAndThePlanSay(): void
    {
        $double = var_export(__DIR__ . '/doubles/octane.php', true);
        $app = new ScratchDirectory([
            self::BIN . '/swoole-server' => self::TELLS,
            'vendor/autoload.php' => "<?php require_once $double;",
            'bootstrap/app.php' => self::BOOTS,
        ]);
        $settings = ['workers' => 3, 'max_requests' => 9, 'max_execution_time' => 4,
            'dispatch' => 'free', 'compression' => false, 'task_workers' => 0];
        Start::worker(self::setupFor($app, 'swoole_so', $settings));
        [$script, , $file] = $GLOBALS['octane'];
        self::assertSame(
            ['swoole-server', "{$app->directory}/tmp/octane-server-state.json"],
            [$script, $file],
        );
        $state = json_decode((string) file_get_contents($file), true)['state'];
        self::assertSame(
            ['Double', "{$app->directory}/public", "{$app->directory}/storage"],
            [$state['appName'], $state['publicPath'], $state['storagePath']],
        );
        $octane = ['garbage' => 7, 'max_execution_time' => 4, 'tick' => false];
        self::assertSame($octane, $state['octaneConfig']);
        self::assertSame(['127.0.0.1', 80], [$state['host'], $state['port']]);
        $options = $state['defaultServerOptions'];
        self::assertSame([3, 3, 0, 9, 0, 3], [$options['worker_num'], $options['reactor_num'],
            $options['task_worker_num'], $options['max_request'], $options['max_request_grace'],
            $options['dispatch_mode']]);
    }

    public function testWorkersOfSwooleAreNamedAndTaskWorkersAreNot(): void
    {
        $named = trim((string) file_get_contents('/proc/self/comm'));
        try {
            $laravel = new OctaneDouble();
            foreach ([[1, 'worker-1'], [2, 'worker-1']] as [$worker, $name]) {
                $server = (object) ['setting' => ['worker_num' => 2]];
                $laravel->state = (object) ['workerId' => $worker, 'server' => $server];
                ProcessNames::register($laravel);
                self::assertSame("$name\n", file_get_contents('/proc/self/comm'));
            }
            self::assertSame(['Laravel\Octane\Events\WorkerStopping'], array_keys($laravel->heard));
            $laravel->heard['Laravel\Octane\Events\WorkerStopping']();
            self::assertSame("ends\n", file_get_contents('/proc/self/comm'));
        } finally {
            file_put_contents('/proc/self/comm', $named);
        }
    }

    public function testAnAppThatDoesNotKnowOctaneIsRefused(): void
    {
        $app = new ScratchDirectory([
            'vendor/autoload.php' => '<?php',
            'bootstrap/app.php' => '<?php return new Stampede\Worker\Tests\OctaneDouble("", []);',
        ]);
        [$directory, $here] = [$app->directory, getcwd()];
        $said = self::failureOf(static fn () => ServerStateFile::writeAppConfig($directory, "$directory/told"));
        chdir((string) $here);
        self::assertSame(
            'the app has not discovered Octane: php artisan package:discover',
            $said,
        );
    }

    public function testScriptsBesideTheFrontControllerAreRoutes(): void
    {
        $script = '<?php http_response_code(203); echo json_encode([$_GET, getcwd()]);';
        $app = new ScratchDirectory(['public/look.php' => $script]);
        $laravel = new OctaneDouble($app->directory);
        Scripts::register($laravel);
        self::assertSame(['GET /look.php'], array_keys($laravel->routes));

        $here = getcwd();
        $answer = $laravel->routes['GET /look.php'](new OctaneRequest('/look.php?a=1'));
        chdir((string) $here);
        self::assertSame(203, $answer->status);
        $public = realpath("{$app->directory}/public");
        self::assertSame([['a' => '1'], $public], json_decode($answer->content, true));
        self::assertSame([], $_GET);
    }

    public function testTheDirectoryThatOctaneIsShownIsTheAppWithItsScripts(): void
    {
        $app = new ScratchDirectory([
            'vendor/autoload.php' => '<?php return "loaded";',
            'bootstrap/app.php' => self::BOOTS,
            'public/look.php' => '<?php',
        ]);
        putenv("APP_BASE_PATH={$app->directory}");
        $base = dirname(__DIR__) . '/src/Octane/base';
        self::assertSame('loaded', require "$base/vendor/autoload.php");
        $laravel = (static fn () => require "$base/bootstrap/app.php")();
        self::assertSame(['GET /look.php'], array_keys($laravel->routes));
        self::assertSame($app->directory, $_SERVER['APP_BASE_PATH']);
    }

    public function testItsWorkersAreWatchedFromEventToEvent(): void
    {
        $scratch = new ScratchDirectory(['check/none' => '']);
        $laravel = new OctaneDouble($scratch->directory);
        RecorderListener::configure(self::setupFor(new ScratchDirectory(), 'rr'));
        RecorderListener::register($laravel);
        self::assertSame([], $laravel->heard, 'nobody asked for it');

        RecorderListener::configure(self::setupFor($scratch, 'rr'));
        RecorderListener::register($laravel);
        $comes = (object) ['request' => new OctaneRequest('/')];
        // Stands for Octane's own buffer, which ends before the event of the request's end.
        ob_start();
        $laravel->heard['Laravel\Octane\Events\RequestReceived']($comes);
        $zone = date_default_timezone_get();
        date_default_timezone_set('Europe/Berlin');
        ob_start();
        $laravel->instance('user', new \stdClass());
        $laravel->heard['Laravel\Octane\Events\RequestTerminated']((object) ['sandbox' => $laravel]);
        self::assertSame(['boot', 'begin'], self::lineKinds($scratch), 'its container is not yet empty');
        $laravel->flush();
        ob_end_clean();
        ob_end_clean();
        date_default_timezone_set($zone);

        self::assertSame(['boot', 'begin', 'end'], self::lineKinds($scratch));
        $lines = self::lines($scratch);
        self::assertSame(['7', '7'], array_column($lines, 'n'));
        self::assertSame('Europe/Berlin', $lines[2]['state']['timezone']);
        self::assertSame(2, $lines[2]['state']['ob_level']);
    }

    /** @return list<array<string, mixed>> */
    private static function lines(ScratchDirectory $scratch): array
    {
        [$file] = glob("{$scratch->directory}/check/*.ndjson") ?: [''];

        return array_map(static fn (string $line): array => json_decode($line, true), file($file) ?: []);
    }

    /** @return list<string> */
    private static function lineKinds(ScratchDirectory $scratch): array
    {
        return array_column(self::lines($scratch), 'at');
    }
}
