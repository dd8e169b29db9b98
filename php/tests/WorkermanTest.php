<?php

declare(strict_types=1);

namespace Stampede\Worker\Tests;

use PHPUnit\Framework\TestCase;
use Stampede\Worker\Request;
use Stampede\Worker\Response;
use Stampede\Worker\Workerman\Messages;
use Workerman\Protocols\Http\Request as WorkermanRequest;

/** @requires extension pcntl */
final class WorkermanTest extends TestCase
{
    private const PID = 'return ["status" => 200, "body" => (string) getmypid()];';

    public static function setUpBeforeClass(): void
    {
        require_once __DIR__ . '/doubles/workerman.php';
    }

    /** @param array<string, mixed> $settings */
    private static function start(string $handler = self::PID, array $settings = []): WorkerProcess
    {
        return new WorkerProcess('Workerman', ['workerman'], $handler, $settings);
    }

    public function testConnectionsAreKeptUnlessTheClientClosesThem(): void
    {
        $process = self::start();
        $connection = $process->connect();
        $answer = $process->ask($connection);
        self::assertSame($answer, $process->ask($connection));
        $closing = $process->ask($connection, "/ HTTP/1.1\r\nConnection: close\r\nX: ");
        self::assertSame("$answer closes", $closing);
        self::assertSame('', fread($connection, 1));
    }

    public function testAfterItsLastRequestAProcessEndsWhenConnectionsAreClosed(): void
    {
        $process = self::start(settings: ['max_requests' => 2]);
        [$one, $other] = [$process->connect(), $process->connect()];
        self::assertStringEndsNotWith('closes', $process->ask($one));
        self::assertStringEndsWith('closes', $process->ask($one));
        self::assertStringEndsWith('closes', $process->ask($other));
        self::assertSame([0, ''], [$process->waitForExit(), $process->log()]);
    }

    public function testAnAppThatExitsIsAnswered(): void
    {
        $process = self::start('http_response_code(403); echo "no"; exit(7);');
        self::assertSame('403 no closes', $process->ask($process->connect()));
        self::assertSame(7, $process->waitForExit());
    }

    public function testAFirstBootThatFailsIsSaid(): void
    {
        $process = self::start('(');
        self::assertSame(1, $process->waitForExit());
        self::assertStringStartsWith('stampede: the worker ends: ParseError: ', $process->log());
        self::assertSame(1, substr_count($process->log(), "\n"));
    }

    public function testARequestIsConvertedWithItsForm(): void
    {
        $head = "POST /p?q=1 HTTP/1.0\r\nHost: h\r\nX-Two: 2\r\nCookie: c=1%202\r\nContent-Type: ";
        $ask = static fn (string $rest): Request =>
            Messages::request(new WorkermanRequest($head . $rest), '::1', 4711, sys_get_temp_dir());
        $request = $ask("multipart/form-data; boundary=b\r\n\r\n--b\r\nContent-Disposition: form-data; "
            . "name=\"a[x]\"\r\n\r\n1\r\n--b--\r\n");
        self::assertSame(['POST', '/p?q=1', 'HTTP/1.0'], [$request->method, $request->target, $request->protocol]);
        self::assertSame(['2'], $request->headers['X-Two']);
        self::assertSame([['c' => '1 2'], ['a' => ['x' => '1']]], [$request->cookies, $request->form]);
        self::assertSame(['', '::1', 4711], [$request->body, $request->remoteAddr, $request->remotePort]);
        $request = $ask("application/json\r\n\r\n{\"a\":1}");
        self::assertSame([[], '{"a":1}'], [$request->form, $request->body], 'JSON is no form');
    }

    public function testAnAnswerHasTheLettersThatWorkermanKnows(): void
    {
        $headers = ['content-type' => ['a/b'], 'content-length' => ['9']];
        $response = static fn (): Response => new Response(200, $headers, 'x');
        $head = "HTTP/1.1 200 \r\nContent-Type: a/b\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\n";
        self::assertSame("{$head}x", Messages::bytes($response(), new Request()));
        self::assertSame($head, Messages::bytes($response(), new Request('HEAD')));
    }
}
