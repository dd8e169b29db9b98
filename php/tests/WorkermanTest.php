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
    private static function served(string $handler = self::PID, array $settings = []): Served
    {
        return new Served('Workerman', ['workerman'], $handler, $settings);
    }

    public function testConnectionsAreKeptUnlessTheClientClosesThem(): void
    {
        $served = self::served();
        $connection = $served->connect();
        $answer = $served->ask($connection);
        self::assertSame($answer, $served->ask($connection));
        $asked = $served->ask($connection, "/ HTTP/1.1\r\nConnection: close\r\nX: ");
        self::assertSame("$answer closes", $asked);
        self::assertSame('', fread($connection, 1));
    }

    public function testAfterItsLastRequestAProcessEndsWhenConnectionsAreClosed(): void
    {
        $served = self::served(settings: ['max_requests' => 2]);
        [$one, $other] = [$served->connect(), $served->connect()];
        self::assertStringEndsNotWith('closes', $served->ask($one));
        self::assertStringEndsWith('closes', $served->ask($one));
        self::assertStringEndsWith('closes', $served->ask($other));
        self::assertSame([0, ''], [$served->ended(), $served->log()]);
    }

    public function testAnAppThatExitsIsAnswered(): void
    {
        $served = self::served('http_response_code(403); echo "no"; exit(7);');
        self::assertSame('403 no closes', $served->ask($served->connect()));
        self::assertSame(7, $served->ended());
    }

    public function testAFirstBootThatFailsIsSaid(): void
    {
        $served = self::served('(');
        self::assertSame(1, $served->ended());
        self::assertStringStartsWith('stampede: the worker ends: ParseError: ', $served->log());
        self::assertSame(1, substr_count($served->log(), "\n"));
    }

    public function testARequestIsTurnedWithItsFormAndFiles(): void
    {
        $head = "POST /p?q=1 HTTP/1.0\r\nHost: h\r\nX-Two: 2\r\nCookie: c=1%202\r\nContent-Type: ";
        $asked = new WorkermanRequest("{$head}multipart/form-data; boundary=b\r\n\r\nraw", ['a' => '1'], ['f' => []]);
        $request = Messages::request($asked, '::1');
        self::assertSame(['POST', '/p?q=1', 'HTTP/1.0'], [$request->method, $request->target, $request->protocol]);
        self::assertSame(['2'], $request->headers['X-Two']);
        self::assertSame([['c' => '1 2'], ['a' => '1'], ['f' => []]], [$request->cookies, $request->form, $request->files]);
        self::assertSame('', $request->body);
        $json = new WorkermanRequest("{$head}application/json\r\n\r\n{\"a\":1}", ['a' => 1]);
        $request = Messages::request($json, '::1');
        self::assertSame([[], '{"a":1}'], [$request->form, $request->body], 'JSON is no form');
    }

    public function testAnAnswerHasTheLettersThatWorkermanKnows(): void
    {
        $response = static fn (): Response => new Response(200, ['content-type' => ['a/b'], 'content-length' => ['9']], 'x');
        $head = "HTTP/1.1 200 \r\nContent-Type: a/b\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\n";
        self::assertSame("{$head}x", Messages::bytes($response(), new Request()));
        self::assertSame($head, Messages::bytes($response(), new Request('HEAD')));
    }
}
