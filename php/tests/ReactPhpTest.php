<?php

declare(strict_types=1);

namespace Stampede\Worker\Tests;

use React\Http\Message\ServerRequest;
use Stampede\Worker\ReactPhp\Messages;
use Stampede\Worker\Response;

/** @requires extension pcntl */
final class ReactPhpTest extends LoopTestCase
{
    public static function setUpBeforeClass(): void
    {
        require_once __DIR__ . '/doubles/react.php';
    }

    /** @param array<string, mixed> $settings */
    protected static function start(string $handler = self::PID, array $settings = []): WorkerProcess
    {
        return new WorkerProcess('ReactPhp', ['psr', 'react'], $handler, $settings);
    }

    public function testAMissingLibraryIsNamed(): void
    {
        $process = new WorkerProcess('ReactPhp', [], self::PID);
        self::assertSame(1, $process->waitForExit());
        self::assertStringContainsString('has no `React\Http\HttpServer`', $process->log());
    }

    public function testARequestIsTurned(): void
    {
        $psrRequest = new ServerRequest([
            'method' => 'POST',
            'requestTarget' => 'http://h:1/p?q=1',
            'headers' => ['Host' => ['h:1']],
            'protocolVersion' => '1.1',
            'serverParams' => ['REMOTE_ADDR' => '[::1]', 'REMOTE_PORT' => 4711],
        ]);
        $request = Messages::request($psrRequest);
        self::assertSame(['POST', '/p?q=1', '::1'], [$request->method, $request->target, $request->remoteAddr]);
        self::assertSame(['h:1', 4711], [$request->header('Host'), $request->remotePort]);
    }

    public function testAnAnswerIsTurnedWithoutItsOwnLength(): void
    {
        $headers = ['A' => ['1', '2'], 'content-LENGTH' => ['9']];
        $response = Messages::response(new Response(404, $headers, 'b'));
        self::assertSame([404, 'b'], [$response->getStatusCode(), $response->getBody()]);
        self::assertSame(['A' => ['1', '2']], $response->getHeaders());
    }
}
