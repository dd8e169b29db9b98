<?php

declare(strict_types=1);

namespace Stampede\Worker\Tests;

use PHPUnit\Framework\TestCase;

/** Tests of processes that share a port, the same for each kind of loop. */
abstract class LoopTestCase extends TestCase
{
    protected const PID = 'return ["status" => 200, "body" => (string) getmypid()];';

    /** @param array<string, mixed> $settings */
    abstract protected static function served(string $handler = self::PID, array $settings = []): Served;

    public function testConnectionsAreKeptAndTwoProcessesShareThem(): void
    {
        $served = static::served(settings: ['workers' => 2]);
        $connections = array_map([$served, 'connect'], range(1, 4));
        $first = array_map(static fn ($one): string => $served->ask($one), $connections);
        $second = array_map(static fn ($one): string => $served->ask($one), $connections);
        self::assertSame($first, $second, 'a connection stays at its process');
        self::assertCount(2, array_unique($first), $served->log());
    }

    public function testAfterItsLastRequestAProcessIsReplacedAndNoneIsLost(): void
    {
        $served = static::served(settings: ['workers' => 1, 'max_requests' => 3]);
        [$one, $other] = [$served->connect(), $served->connect()];
        $answers = [$served->ask($one), $served->ask($other), $served->ask($one), $served->ask($other)];
        $pid = (int) substr($answers[0], 4);
        self::assertSame(["200 $pid", "200 $pid", "200 $pid closes", "200 $pid closes"], $answers);
        $next = $served->ask($served->connect());
        self::assertStringStartsWith('200 ', $next);
        self::assertNotSame("200 $pid", $next);
        self::assertSame('', $served->log());
    }

    public function testWithoutKeepAliveEachAnswerClosesItsConnection(): void
    {
        $served = static::served('return ["status" => 200, "body" => "x"];', ['keep_alive' => false]);
        self::assertSame('200 x closes', $served->ask($served->connect()));
    }

    public function testAnAppThatExitsIsAnsweredAndItsProcessReplaced(): void
    {
        $handler = 'if ($server["REQUEST_URI"] === "/exit") { http_response_code(403); echo "no"; exit(7); }'
            . self::PID;
        $served = static::served($handler);
        $before = $served->ask($served->connect());
        self::assertSame('403 no closes', $served->ask($served->connect(), '/exit'));
        $after = $served->ask($served->connect());
        self::assertNotSame($before, $after);
        $pid = substr($before, 4);
        self::assertSame("stampede: worker $pid ended with exit code 7\n", $served->log());
    }

    public function testAKilledProcessIsReplaced(): void
    {
        $served = static::served();
        $connection = $served->connect();
        $pid = (int) substr($served->ask($connection), 4);
        exec("kill -9 $pid");
        self::assertSame('nothing', $served->ask($connection));
        self::assertStringStartsWith('200 ', $served->ask($served->connect()));
        self::assertSame("stampede: worker $pid was ended by signal 9\n", $served->log());
    }

    public function testAskedToEndItAnswersWhatItHas(): void
    {
        $served = static::served('usleep(300_000); return ["status" => 200, "body" => "slept"];');
        [$one, $idle] = [$served->connect(), $served->connect()];
        fwrite($one, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
        usleep(100_000);
        $served->signal(SIGTERM);
        self::assertSame(0, $served->ended(), $served->log());
        self::assertStringEndsWith("\r\n\r\nslept", (string) stream_get_contents($one));
        self::assertSame('', stream_get_contents($idle));
        self::assertSame('', $served->log());
    }

    public function testAFirstBootThatFailsIsSaidOnce(): void
    {
        $served = static::served('(', ['workers' => 3]);
        self::assertSame(1, $served->ended());
        self::assertStringStartsWith('stampede: the worker ends: ParseError: ', $served->log());
        self::assertSame(1, substr_count($served->log(), "\n"));
    }

    public function testAFirstBootThatEndsPhpIsSaid(): void
    {
        $served = static::served('<?php exit(3);');
        self::assertSame(1, $served->ended());
        $said = "stampede: the worker ends: it ended with exit code 3 before it was ready\n";
        self::assertSame($said, $served->log());
    }
}
