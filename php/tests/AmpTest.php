<?php

declare(strict_types=1);

namespace Stampede\Worker\Tests;

use Amp\Http\Server\Driver\Client;
use Amp\Http\Server\Request;
use Amp\Http\Server\Text;
use Stampede\Worker\Amp\Messages;
use Stampede\Worker\Response;

/**
 * @requires extension pcntl
 * @requires PHP 8.1
 */
final class AmpTest extends LoopTestCase
{
    public static function setUpBeforeClass(): void
    {
        require_once __DIR__ . '/doubles/amp.php';
    }

    /** @param array<string, mixed> $settings */
    protected static function start(string $handler = self::PID, array $settings = []): WorkerProcess
    {
        return new WorkerProcess('Amp', ['amp'], $handler, $settings);
    }

    public function testAMissingLibraryIsNamed(): void
    {
        $process = new WorkerProcess('Amp', [], self::PID);
        self::assertSame(1, $process->waitForExit());
        self::assertStringContainsString('has no `Amp\Http\Server\SocketHttpServer`', $process->log());
    }

    public function testARequestIsTurned(): void
    {
        $ampRequest = new Request([
            'getMethod' => 'POST',
            'getUri' => new Text('/p', 'q=1'),
            'getHeaders' => ['content-type' => ['application/x-www-form-urlencoded'], 'cookie' => ['c=1']],
            'getProtocolVersion' => '1.0',
            'getClient' => new Client(null),
        ]);
        $request = Messages::request($ampRequest);
        self::assertSame(['POST', '/p?q=1', 'HTTP/1.0'], [$request->method, $request->target, $request->protocol]);
        self::assertSame(['c=1', 4711], [$request->header('Cookie'), $request->remotePort]);
    }

    public function testAnAnswerSaysItsLengthWhereItHasABody(): void
    {
        $headers = ['A' => ['1', '2'], 'content-LENGTH' => ['9']];
        $response = Messages::response(new Response(404, $headers, 'b'));
        self::assertSame(['A' => ['1', '2'], 'Content-Length' => ['1']], $response->headers);
        self::assertSame([], Messages::response(new Response(204))->headers);
    }
}
