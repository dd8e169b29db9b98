<?php

declare(strict_types=1);

namespace Stampede\Worker\Tests;

use PHPUnit\Framework\TestCase;
use Stampede\Worker\Problem;
use Stampede\Worker\Response;
use Stampede\Worker\Setup;
use Stampede\Worker\Swoole\Failure;
use Stampede\Worker\Swoole\Message;
use Stampede\Worker\Swoole\Options;
use Stampede\Worker\Swoole\Start;
use Stampede\Worker\Swoole\Watchdog;
use Swoole\Atomic;
use Swoole\Http\Request;
use Swoole\Http\Response as Side;
use Swoole\Http\Server;
use Swoole\Process;
use Swoole\Timer;

final class SwooleTest extends TestCase
{
    private ScratchDirectory $scratch;
    /** @var array<string, mixed> */
    private array $server;
    private string $cwd;
    private string $name;

    protected function setUp(): void
    {
        $this->server = $_SERVER;
        $this->cwd = (string) getcwd();
        $this->name = (string) file_get_contents('/proc/self/comm');
    }

    protected function tearDown(): void
    {
        $_SERVER = $this->server;
        chdir($this->cwd);
        file_put_contents('/proc/self/comm', trim($this->name));
        Server::$requests = [];
    }

    /** @param array<string, mixed> $settings */
    private function plan(array $settings = [], string $handler = ''): Setup
    {
        $code = "<?php return static function (array \$server): array { $handler };";
        $this->scratch = new ScratchDirectory(['handler.php' => $code, 'tmp/none' => '']);
        $directory = $this->scratch->directory;

        return new Setup(
            app: $directory,
            kind: 'callable',
            docroot: "$directory/public",
            dir: $directory,
            port: 8080,
            settings: $settings + ['workers' => 3],
            cpus: 2,
        );
    }

    /** @return Server the server after it answered */
    private function serve(string $handler, Request ...$requests): Server
    {
        Server::$requests = array_values($requests);
        Start::worker($this->plan([], $handler));

        return Server::$last ?? new Server();
    }

    public function testNothingIsLeftForTheServerToGuess(): void
    {
        $options = Options::build($this->plan(['max_requests' => 7, 'compression' => true]));
        $directory = $this->scratch->directory;
        $some = [
            'worker_num' => 3, 'reactor_num' => 2, 'max_request' => 7, 'max_request_grace' => 0,
            'dispatch_mode' => 3, 'enable_coroutine' => false, 'hook_flags' => 0,
            'daemonize' => false, 'pid_file' => "$directory/tmp/swoole.pid",
            'upload_tmp_dir' => "$directory/tmp", 'backlog' => 4096, 'open_tcp_nodelay' => true,
            'package_max_length' => 52428800, 'http_compression' => true,
        ];
        self::assertSame($some, array_intersect_key($options, $some));
    }

    public function testThereAreNoMoreReactorsThanWorkers(): void
    {
        self::assertSame(1, Options::build($this->plan(['workers' => 1]))['reactor_num']);
    }

    public function testModeAndDispatchAreThoseOfThePlan(): void
    {
        self::assertSame(2, Options::mode($this->plan()));
        self::assertSame(1, Options::mode($this->plan(['server_mode' => 'base'])));
        foreach (['turn' => 1, 'connection' => 2, 'free' => 3] as $word => $number) {
            $options = Options::build($this->plan(['dispatch' => $word]));
            self::assertSame($number, $options['dispatch_mode'], $word);
        }
    }

    public function testALimitOfRequestsIsRefusedWhereItWouldLoseSome(): void
    {
        $plan = $this->plan(['server_mode' => 'base', 'max_requests' => 5]);
        $this->expectException(Problem::class);
        $this->expectExceptionMessage('`max_requests` needs `server_mode: process`');
        Options::build($plan);
    }

    public function testARequestIsConverted(): void
    {
        $swooleRequest = new Request('/p%20q', '{"a":1}');
        $swooleRequest->server['query_string'] = 'x[]=1&x[]=2';
        $swooleRequest->header = ['host' => 'h:1', 'x-two' => ['a', 'b'], 'content-type' => 'text/json'];
        $swooleRequest->header['cookie'] = 'c=v%20w';
        $request = Message::request($swooleRequest, sys_get_temp_dir());
        self::assertSame(['GET', '/p%20q?x[]=1&x[]=2'], [$request->method, $request->target]);
        self::assertSame(['x' => ['1', '2']], $request->query());
        self::assertSame(['h:1', 'a, b'], [$request->header('Host'), $request->header('X-Two')]);
        self::assertSame(['{"a":1}', ['c' => 'v w']], [$request->body, $request->cookies]);
        self::assertSame(['10.0.0.1', 'HTTP/1.1'], [$request->remoteAddr, $request->protocol]);
        self::assertSame([[], []], [$request->form, $request->files]);
    }

    public function testAFormIsParsedHere(): void
    {
        $swooleRequest = new Request('/', 'a.b[]=1+2');
        $swooleRequest->server['request_method'] = 'POST';
        $swooleRequest->header = ['content-type' => 'application/x-www-form-urlencoded'];
        $request = Message::request($swooleRequest, sys_get_temp_dir());
        self::assertSame(['a.b[]=1+2', ['a_b' => ['1 2']]], [$request->body, $request->form]);
    }

    public function testAStreamedAnswerGoesInPieces(): void
    {
        $handler = 'return ["status" => 200, "headers" => ["Content-Length" => "2"], "body" => ["a", "b"]];';
        $server = $this->serve($handler, new Request());
        $calls = array_filter($server->answers[0]->calls, fn (array $call): bool => $call[0] !== 'header');
        self::assertSame([['write', 'a'], ['write', 'b'], ['end', null]], array_slice(array_values($calls), 1));
        self::assertNotContains(['header', 'Content-Length', '2'], $server->answers[0]->calls);
    }

    public function testAnAnswerGoesOutWithAllItsHeaders(): void
    {
        $side = new Side();
        $headers = ['Set-Cookie' => ['a=1', 'b=2'], 'X-A' => ['1'], 'Content-Length' => ['9']];
        Message::send(new Response(308, $headers, 'body'), $side);
        self::assertSame([
            ['status', 308, 'Permanent Redirect'],
            ['header', 'Set-Cookie', ['a=1', 'b=2']],
            ['header', 'X-A', '1'],
            ['end', 'body'],
        ], $side->calls);
    }

    public function testALengthIsKeptWhereThereIsNoBodyToCount(): void
    {
        $side = new Side();
        Message::send(new Response(200, ['content-length' => ['9']]), $side);
        self::assertContains(['header', 'content-length', '9'], $side->calls);
    }

    public function testWhatHasNoBodyGetsNone(): void
    {
        $side = new Side();
        Message::send(new Response(204, [], 'body'), $side);
        self::assertSame(['end', ''], end($side->calls));
    }

    public function testTheAnswerToHeadHasALengthAndNoBody(): void
    {
        $swooleRequest = new Request();
        $swooleRequest->server['request_method'] = 'HEAD';
        $server = $this->serve('return ["status" => 200, "body" => "12345"];', $swooleRequest);
        $calls = $server->answers[0]->calls;
        self::assertContains(['header', 'content-length', '5'], $calls);
        self::assertSame(['end', ''], end($calls));
    }

    public function testTheServerIsMadeAndAnswers(): void
    {
        $handler = 'echo "a"; return ["status" => 200, "body" => $server["REQUEST_URI"]];';
        $server = $this->serve($handler, new Request('/one'), new Request('/two'));
        self::assertSame(['127.0.0.1', 8080, 2, 1], $server->made);
        $ends = array_map(static fn (Side $side): mixed => end($side->calls), $server->answers);
        self::assertSame([['end', 'a/one'], ['end', 'a/two']], $ends);
        self::assertSame([], $server->calls);
        self::assertArrayNotHasKey('REQUEST_URI', $_SERVER, 'cleared after the answer');
    }

    public function testAWorkerHasANameThatItIsCountedBy(): void
    {
        $handler = 'return ["status" => 200, "body" => file_get_contents("/proc/self/comm")];';
        $server = $this->serve($handler, new Request());
        self::assertContains(['end', "worker-0\n"], $server->answers[0]->calls);
        self::assertSame("ends\n", file_get_contents('/proc/self/comm'));
    }

    public function testAnAppThatExitsIsAnsweredAndItsWorkerReplaced(): void
    {
        $handler = 'http_response_code(403); echo "no "; throw new \Swoole\ExitException("entry");';
        $server = $this->serve($handler, new Request());
        http_response_code(200);
        $calls = $server->answers[0]->calls;
        self::assertSame(['status', 403, 'Forbidden'], $calls[0]);
        self::assertSame(['end', 'no entry'], end($calls));
        self::assertSame(['stop'], $server->calls);
    }

    public function testAWorkerThatIsIdleInsideARequestIsEnded(): void
    {
        Process::$killed = [];
        $server = new Server();
        $lines = [];
        $log = static function (string $line) use (&$lines): void {
            $lines[] = $line;
        };
        $failure = new Failure("{$this->plan()->dir}/tmp/failed", new Atomic());
        $watchdog = new Watchdog($server, 'Swoole', $failure, 2, $log);
        $watchdog->countTransition(1);
        $server->status = 1;
        $watchdog->check();
        self::assertSame([], Process::$killed, 'it works');
        $server->status = 2;
        $watchdog->countTransition(1);
        $watchdog->check();
        self::assertSame([], Process::$killed, 'it waits');
        $watchdog->countTransition(1);
        $watchdog->check();
        $watchdog->check();
        self::assertSame([[4712, 9]], Process::$killed, 'once');
        self::assertSame(['stampede: PHP left worker 1 half way: it is replaced'], $lines);
    }

    public function testAnAppThatDoesNotBootEndsTheServerWithAWord(): void
    {
        $setup = $this->plan([], '(');
        Server::$requests = [new Request()];
        try {
            Start::worker($setup);
            self::fail('it began');
        } catch (Problem $problem) {
            $said = $problem->getMessage();
            self::assertStringStartsWith('the app does not boot: ParseError: ', $said);
        }
        $calls = Server::$last->answers[0]->calls;
        self::assertSame(['status', 503, 'Service Unavailable'], $calls[0]);
        [[, $look]] = array_slice(Timer::$ticks, -1);
        $look();
        self::assertSame(['shutdown'], Server::$last->calls);
    }
}
