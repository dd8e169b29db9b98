<?php

declare(strict_types=1);

namespace Stampede\Worker\Tests;

use PHPUnit\Framework\TestCase;
use Stampede\Worker\App;
use Stampede\Worker\CallbackWorker;
use Stampede\Worker\Http1;
use Stampede\Worker\Http1Stream;
use Stampede\Worker\IncomingFile;
use Stampede\Worker\Request;
use Stampede\Worker\Response;
use Stampede\Worker\Site;

final class CallbackWorkerTest extends TestCase
{
    /** @var \ArrayObject<int, string> the calls that the app received */
    private \ArrayObject $done;
    /** @var array<string, mixed> */
    private array $server;
    private string $cwd;

    protected function setUp(): void
    {
        $this->done = new \ArrayObject();
        $this->server = $_SERVER;
        $this->cwd = (string) getcwd();
    }

    protected function tearDown(): void
    {
        $_SERVER = $this->server;
        chdir($this->cwd);
    }

    private function worker(int $max = 0): CallbackWorker
    {
        $app = new class ($this->done) implements App {
            /** @param \ArrayObject<int, string> $done */
            public function __construct(private \ArrayObject $done)
            {
            }

            public static function adapters(): array
            {
                return [];
            }

            public function handle(Request $request): Response
            {
                $this->done[] = $request->target;

                return new Response(200, ['connection' => ['keep-alive']], 'x');
            }

            public function terminate(): void
            {
                $this->done[] = 'terminate';
            }

            public function reboot(): void
            {
            }
        };

        return new CallbackWorker(new Site($app, __DIR__), $max, fn () => $this->done[] = 'over');
    }

    public function testWhatIsLeftToDoIsDoneBeforeTheNextRequest(): void
    {
        $worker = $this->worker();
        $worker->answer(new Request('GET', '/1'));
        $worker->answer(new Request('GET', '/2'));
        $worker->cleanUp();
        $worker->cleanUp();
        self::assertSame(['/1', 'terminate', '/2', 'terminate'], $this->done->getArrayCopy());
    }

    public function testAfterItsLastRequestConnectionsAreClosed(): void
    {
        $worker = $this->worker(2);
        $headers = static fn (): array => $worker->answer(new Request('GET', '/'))->headers;
        self::assertSame(['keep-alive'], $headers()['connection']);
        self::assertSame(['close'], $headers()['Connection']);
        self::assertArrayNotHasKey('connection', $headers());
        self::assertSame(1, array_count_values($this->done->getArrayCopy())['over']);
    }

    public function testUploadsAreRemovedAfterTheAnswer(): void
    {
        $incoming = new IncomingFile('a', '', sys_get_temp_dir());
        $incoming->write('text');
        $file = $incoming->leaf();
        $worker = $this->worker();
        $worker->answer(new Request('POST', '/', files: ['a' => ['b' => $file]]));
        self::assertFileExists($file['tmp_name']);
        $worker->cleanUp();
        self::assertFileDoesNotExist($file['tmp_name']);
    }

    public function testAnAnswerInBytes(): void
    {
        $headers = ['content-length' => ['99'], 'Transfer-Encoding' => ['chunked'], 'A' => ['1', "2\r\nB: 3"]];
        $head = "HTTP/1.1 404 \r\nA: 1\r\nA: 2B: 3\r\nContent-Length: 4\r\n\r\n";
        self::assertSame($head . 'gone', Http1::bytes(new Response(404, $headers, 'gone'), 'GET'));
        self::assertSame($head, Http1::bytes(new Response(404, $headers, 'gone'), 'HEAD'));
    }

    public function testAClientThatReadsGetsAllOfAnAnswer(): void
    {
        [$ours, $theirs] = (array) stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
        $response = new Response(200, [], str_repeat('x', 1000));
        Http1::send($ours, $response, 'GET');
        self::assertStringEndsWith(str_repeat('x', 1000), (string) stream_get_contents($theirs));
        self::assertFalse(is_resource($ours));
    }

    /**
     * @param array<string, list<string>> $headers
     * @return array{string, string} head and body as the client gets them
     */
    private static function streamed(Request $request, array $headers = []): array
    {
        [$ours, $theirs] = (array) stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
        $stream = new Http1Stream($ours, new Response(200, $headers), $request);
        foreach (['one', '', 'two'] as $piece) {
            $stream->write($piece);
        }
        $stream->end();
        fclose($ours);

        return explode("\r\n\r\n", (string) stream_get_contents($theirs), 2) + ['', ''];
    }

    public function testAStreamedBodyEndsAsTheClientCanTell(): void
    {
        [$head, $body] = self::streamed(new Request());
        self::assertSame("HTTP/1.1 200 \r\nTransfer-Encoding: chunked\r\nConnection: close", $head);
        self::assertSame("3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n", $body);
        [$head, $body] = self::streamed(new Request(), ['Content-Length' => ['6']]);
        self::assertStringNotContainsString('chunked', $head);
        self::assertSame('onetwo', $body);
        [$head, $body] = self::streamed(new Request(protocol: 'HTTP/1.0'));
        self::assertStringNotContainsString('chunked', $head);
        self::assertSame('onetwo', $body);
        self::assertSame('', self::streamed(new Request('HEAD'))[1]);
    }

    public function testAClientThatIsGoneDoesNotKeepTheWorker(): void
    {
        [$ours, $theirs] = (array) stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
        fclose($theirs);
        $stream = new Http1Stream($ours, new Response(), new Request());
        $began = microtime(true);
        $stream->write(str_repeat('x', 1 << 20));
        $stream->end();
        self::assertLessThan(1.0, microtime(true) - $began);
    }
}
