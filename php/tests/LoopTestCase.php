<?php

declare(strict_types=1);

namespace Stampede\Worker\Tests;

use PHPUnit\Framework\TestCase;

/** Tests of processes that share a port, the same for each kind of loop. */
abstract class LoopTestCase extends TestCase
{
    protected const PID = 'return ["status" => 200, "body" => (string) getmypid()];';

    /** @param array<string, mixed> $settings */
    abstract protected static function start(string $handler = self::PID, array $settings = []): WorkerProcess;

    public function testConnectionsAreKeptAndTwoProcessesShareThem(): void
    {
        $process = static::start(settings: ['workers' => 2]);
        $connections = array_map([$process, 'connect'], range(1, 4));
        $first = array_map(static fn ($one): string => $process->ask($one), $connections);
        $second = array_map(static fn ($one): string => $process->ask($one), $connections);
        self::assertSame($first, $second, 'a connection stays at its process');
        $seen = array_fill_keys($first, true);
        // On a busy machine the second process may start later than the first four connections.
        for ($tries = 0; count($seen) < 2 && $tries < 250; $tries++) {
            usleep(20_000);
            $seen[$process->ask($process->connect())] = true;
        }
        self::assertCount(2, $seen, $process->log());
    }

    public function testAfterItsLastRequestAProcessIsReplacedAndNoneIsLost(): void
    {
        $process = static::start(settings: ['workers' => 1, 'max_requests' => 3]);
        [$one, $other] = [$process->connect(), $process->connect()];
        $answers = [$process->ask($one), $process->ask($other), $process->ask($one), $process->ask($other)];
        $pid = (int) substr($answers[0], 4);
        self::assertSame(["200 $pid", "200 $pid", "200 $pid closes", "200 $pid closes"], $answers);
        $next = $process->ask($process->connect());
        self::assertStringStartsWith('200 ', $next);
        self::assertNotSame("200 $pid", $next);
        self::assertSame('', $process->log());
    }

    public function testWithoutKeepAliveEachAnswerClosesItsConnection(): void
    {
        $process = static::start('return ["status" => 200, "body" => "x"];', ['keep_alive' => false]);
        self::assertSame('200 x closes', $process->ask($process->connect()));
    }

    public function testAnAppThatExitsIsAnsweredAndItsProcessReplaced(): void
    {
        $handler = 'if ($server["REQUEST_URI"] === "/exit") { http_response_code(403); echo "no"; exit(7); }'
            . self::PID;
        $process = static::start($handler);
        $before = $process->ask($process->connect());
        self::assertSame('403 no closes', $process->ask($process->connect(), '/exit'));
        $after = $process->ask($process->connect());
        self::assertNotSame($before, $after);
        $pid = substr($before, 4);
        self::assertSame("stampede: worker $pid ended with exit code 7\n", $process->log());
    }

    public function testAStreamedAnswerReachesTheClientWhileItIsMade(): void
    {
        $flag = sys_get_temp_dir() . '/stampede-read-' . bin2hex(random_bytes(8));
        $handler = "return ['status' => 200, 'body' => (static function () {
            yield 'first';
            for (\$tries = 0; !file_exists('$flag') && \$tries < 500; \$tries++) {
                usleep(10_000);
                clearstatcache();
            }
            yield file_exists('$flag') ? ' second' : ' too late';
        })()];";
        $process = static::start($handler);
        $connection = $process->connect();
        fwrite($connection, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
        $text = '';
        for ($reads = 0; !str_contains($text, 'first') && $reads < 500; $reads++) {
            $text .= fread($connection, 4096);
        }
        touch($flag);
        $text .= stream_get_contents($connection);
        unlink($flag);
        self::assertStringEndsWith("5\r\nfirst\r\n7\r\n second\r\n0\r\n\r\n", $text, $process->log());
    }

    public function testAKilledProcessIsReplaced(): void
    {
        $process = static::start();
        $connection = $process->connect();
        $pid = (int) substr($process->ask($connection), 4);
        // A pid of 0 would be this program and all that started it.
        self::assertGreaterThan(1, $pid);
        exec("kill -9 $pid");
        self::assertSame('nothing', $process->ask($connection));
        self::assertStringStartsWith('200 ', $process->ask($process->connect()));
        self::assertSame("stampede: worker $pid was ended by signal 9\n", $process->log());
    }

    public function testAskedToEndItAnswersWhatItHas(): void
    {
        $begun = sys_get_temp_dir() . '/stampede-begun-' . bin2hex(random_bytes(8));
        $handler = "file_put_contents('$begun', ''); usleep(300_000); return ['status' => 200, 'body' => 'slept'];";
        $process = static::start($handler);
        [$one, $idle] = [$process->connect(), $process->connect()];
        fwrite($one, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
        for ($tries = 0; !file_exists($begun) && $tries < 500; $tries++) {
            usleep(10_000);
            clearstatcache();
        }
        self::assertTrue(unlink($begun), 'the request has begun');
        $process->signal(SIGTERM);
        self::assertSame(0, $process->waitForExit(), $process->log());
        self::assertStringEndsWith("\r\n\r\nslept", (string) stream_get_contents($one));
        self::assertSame('', stream_get_contents($idle));
        self::assertSame('', $process->log());
    }

    public function testAFirstBootThatFailsIsSaidOnce(): void
    {
        $process = static::start('(', ['workers' => 3]);
        self::assertSame(1, $process->waitForExit());
        self::assertStringStartsWith('stampede: the worker ends: ParseError: ', $process->log());
        self::assertSame(1, substr_count($process->log(), "\n"));
    }

    public function testAFirstBootThatEndsPhpIsSaid(): void
    {
        $process = static::start('<?php exit(3);');
        self::assertSame(1, $process->waitForExit());
        $said = "stampede: the worker ends: it ended with exit code 3 before it was ready\n";
        self::assertSame($said, $process->log());
    }
}
