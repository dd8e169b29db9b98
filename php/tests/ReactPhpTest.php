<?php

declare(strict_types=1);

namespace Stampede\Worker\Tests;

use PHPUnit\Framework\TestCase;
use React\Http\Message\ServerRequest;
use React\Http\Message\UploadedFile;
use Stampede\Worker\ReactPhp\Messages;
use Stampede\Worker\Response;

/**
 * ReactPHP, and the processes on one port that AMPHP has, too.
 *
 * @requires extension pcntl
 */
final class ReactPhpTest extends TestCase
{
    private const PID = 'return ["status" => 200, "body" => (string) getmypid()];';

    public static function setUpBeforeClass(): void
    {
        require_once __DIR__ . '/doubles/react.php';
    }

    /** @param array<string, mixed> $settings */
    private static function served(string $handler = self::PID, array $settings = []): Served
    {
        return new Served('ReactPhp', ['psr', 'react'], $handler, $settings);
    }

    public function testConnectionsAreKeptAndTwoProcessesShareThem(): void
    {
        $served = self::served(settings: ['workers' => 2]);
        $connections = array_map([$served, 'connect'], range(1, 4));
        $first = array_map(static fn ($one): string => $served->ask($one), $connections);
        $second = array_map(static fn ($one): string => $served->ask($one), $connections);
        self::assertSame($first, $second, 'a connection stays at its process');
        self::assertCount(2, array_unique($first), $served->log());
    }

    public function testAfterItsLastRequestAProcessIsReplacedAndNoneIsLost(): void
    {
        $served = self::served(settings: ['workers' => 1, 'max_requests' => 3]);
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
        $served = self::served('return ["status" => 200, "body" => "x"];', ['keep_alive' => false]);
        self::assertSame('200 x closes', $served->ask($served->connect()));
    }

    public function testAnAppThatExitsIsAnsweredAndItsProcessReplaced(): void
    {
        $handler = 'if ($server["REQUEST_URI"] === "/exit") { http_response_code(403); echo "no"; exit(7); }'
            . self::PID;
        $served = self::served($handler);
        $before = $served->ask($served->connect());
        self::assertSame('403 no closes', $served->ask($served->connect(), '/exit'));
        $after = $served->ask($served->connect());
        self::assertNotSame($before, $after);
        $pid = substr($before, 4);
        self::assertSame("stampede: worker $pid ended with exit code 7\n", $served->log());
    }

    public function testAKilledProcessIsReplaced(): void
    {
        $served = self::served();
        $connection = $served->connect();
        $pid = (int) substr($served->ask($connection), 4);
        exec("kill -9 $pid");
        self::assertSame('nothing', $served->ask($connection));
        self::assertStringStartsWith('200 ', $served->ask($served->connect()));
        self::assertSame("stampede: worker $pid was ended by signal 9\n", $served->log());
    }

    public function testAskedToEndItAnswersWhatItHas(): void
    {
        $served = self::served('usleep(300_000); return ["status" => 200, "body" => "slept"];');
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
        $served = self::served('(', ['workers' => 3]);
        self::assertSame(1, $served->ended());
        self::assertStringStartsWith('stampede: the worker ends: ParseError: ', $served->log());
        self::assertSame(1, substr_count($served->log(), "\n"));
    }

    public function testAFirstBootThatEndsPhpIsSaid(): void
    {
        $served = self::served('<?php exit(3);');
        self::assertSame(1, $served->ended());
        $said = "stampede: the worker ends: it ended with exit code 3 before it was ready\n";
        self::assertSame($said, $served->log());
    }

    public function testAMissingLibraryIsNamed(): void
    {
        $served = new Served('ReactPhp', [], self::PID);
        self::assertSame(1, $served->ended());
        self::assertStringContainsString('has no `React\Http\HttpServer`', $served->log());
    }

    public function testARequestIsTurnedWithItsFormAndFiles(): void
    {
        $asked = new ServerRequest([
            'method' => 'POST',
            'requestTarget' => 'http://h:1/p?q=1',
            'headers' => ['Host' => ['h:1']],
            'cookieParams' => ['c' => '1'],
            'parsedBody' => ['a' => ['b' => '1']],
            'uploadedFiles' => ['f' => [
                new UploadedFile('text', UPLOAD_ERR_OK, 'n'),
                new UploadedFile('', UPLOAD_ERR_NO_FILE, ''),
            ]],
            'protocolVersion' => '1.1',
            'serverParams' => ['REMOTE_ADDR' => '[::1]'],
        ]);
        $request = Messages::request($asked, sys_get_temp_dir());
        self::assertSame(['POST', '/p?q=1', '::1'], [$request->method, $request->target, $request->remoteAddr]);
        self::assertSame([['c' => '1'], ['a' => ['b' => '1']]], [$request->cookies, $request->form]);
        [$file, $none] = $request->files['f'];
        self::assertSame(['n', 'text/plain', 4], [$file['name'], $file['type'], $file['size']]);
        self::assertSame('text', file_get_contents($file['tmp_name']));
        self::assertSame(UPLOAD_ERR_NO_FILE, $none['error']);
        unlink($file['tmp_name']);
    }

    public function testAnAnswerIsTurnedWithoutItsOwnLength(): void
    {
        $headers = ['A' => ['1', '2'], 'content-LENGTH' => ['9']];
        $response = Messages::response(new Response(404, $headers, 'b'));
        self::assertSame([404, 'b'], [$response->getStatusCode(), $response->getBody()]);
        self::assertSame(['A' => ['1', '2']], $response->getHeaders());
    }
}
