<?php

declare(strict_types=1);

namespace Stampede\Worker\Tests;

use PHPUnit\Framework\TestCase;
use Stampede\Worker\App\CallableApp;
use Stampede\Worker\FrankenPhp\Head;
use Stampede\Worker\FrankenPhp\Loop;
use Stampede\Worker\FrankenPhp\RequestFactory;
use Stampede\Worker\Site;

/** Uses a double of `frankenphp_handle_request`: it sets superglobals, then calls back. */
final class FrankenPhpTest extends TestCase
{
    private ScratchDirectory $scratch;
    /** @var list<mixed> */
    private array $kept;
    private string $cwd;
    /** @var list<array{int, list<string>, string}> */
    private array $answers = [];
    /** @var list<string> */
    private array $log = [];

    protected function setUp(): void
    {
        $this->kept = [$_SERVER, $_GET, $_POST, $_COOKIE, $_FILES];
        $this->cwd = (string) getcwd();
    }

    protected function tearDown(): void
    {
        [$_SERVER, $_GET, $_POST, $_COOKIE, $_FILES] = $this->kept;
        chdir($this->cwd);
    }

    /** @param array<string, string> $files */
    private function loop(string $handler, int $max = 0, array $files = []): Loop
    {
        $code = "<?php return static function (array \$server): array { $handler };";
        $this->scratch = new ScratchDirectory(['handler.php' => $code] + $files);
        $app = new CallableApp("{$this->scratch->directory}/handler.php");
        $app->reboot();
        $log = function (string $line): void {
            $this->log[] = $line;
        };

        return new Loop(new Site($app, "{$this->scratch->directory}/public", log: $log), $max);
    }

    /**
     * Sends a request to each target, then tells the loop to end.
     *
     * @param list<string> $targets
     * @return callable(callable): bool
     */
    private function asking(array $targets): callable
    {
        return function (callable $callback) use (&$targets): bool {
            if ($targets === []) {
                return false;
            }
            Head::fresh();
            $_SERVER['REQUEST_URI'] = array_shift($targets);
            $_SERVER['HTTP_HOST'] = 'h';
            ob_start();
            $callback();
            self::assertSame('', ob_get_clean(), 'printed after the answer');

            return true;
        };
    }

    public function finish(): void
    {
        $this->answers[] = [Head::$status, Head::$lines, (string) ob_get_contents()];
        ob_clean();
    }

    public function testARequestIsAnsweredAsByAWebServer(): void
    {
        $handler = 'return ["status" => 201, "headers" => ["X-A" => ["1", "2"], "Content-Type" => "a/b"],
            "body" => $server["REQUEST_URI"] . $server["HTTP_HOST"] . $server["HTTP_X_B"]
                . $server["SCRIPT_NAME"]];';
        $served = $this->loop($handler)->run($this->asking(['/x?y=1']), [$this, 'finish'], fn () => ['X-B' => 'b']);
        self::assertSame(1, $served);
        $head = ['X-A: 1', 'X-A: 2', 'Content-Type: a/b'];
        self::assertSame([[201, $head, '/x?y=1hb/index.php']], $this->answers);
    }

    public function testWhatTheAppSetsByHeaderGoesOutToo(): void
    {
        $handler = 'Stampede\Worker\FrankenPhp\header("Set-Cookie: a=1");
            Stampede\Worker\FrankenPhp\header("Content-Type: text/plain");
            echo "printed, ";
            return ["status" => 200, "headers" => ["Set-Cookie" => "b=2"], "body" => "body"];';
        $this->loop($handler)->run($this->asking(['/']), [$this, 'finish'], fn () => []);
        $head = ['Set-Cookie: a=1', 'Content-Type: text/plain', 'Set-Cookie: b=2'];
        self::assertSame([[200, $head, 'printed, body']], $this->answers);
    }

    public function testAnAppThatFlushedHasSentItsHead(): void
    {
        $handler = 'Stampede\Worker\FrankenPhp\Head::$sent = true;
            return ["status" => 404, "body" => "b"];';
        $this->loop($handler)->run($this->asking(['/']), [$this, 'finish'], fn () => []);
        self::assertSame([[200, [], 'b']], $this->answers);
    }

    public function testAnExceptionIsA500AndTheNextRequestIsServed(): void
    {
        $handler = 'if ($server["REQUEST_URI"] === "/bad") { throw new \Error("why"); }
            return ["status" => 200, "body" => "fine"];';
        $served = $this->loop($handler)->run($this->asking(['/bad', '/']), [$this, 'finish'], fn () => []);
        self::assertSame([2, 500, 'fine'], [$served, $this->answers[0][0], $this->answers[1][2]]);
        self::assertStringContainsString('stampede: GET /bad: Error: why in ', $this->log[0]);
    }

    public function testMaxRequestsEndsTheLoopAfterAnAnswer(): void
    {
        $loop = $this->loop('return ["status" => 200, "body" => "x"];', 2);
        self::assertSame(2, $loop->run($this->asking(['/', '/', '/']), [$this, 'finish'], fn () => []));
        self::assertCount(2, $this->answers);
    }

    public function testSuperglobalsAreGoneAfterTheAnswer(): void
    {
        $_POST = ['a' => '1'];
        $loop = $this->loop('return ["status" => 200, "body" => $_POST["a"]];');
        $loop->run($this->asking(['/']), [$this, 'finish'], fn () => []);
        self::assertSame([[], '1'], [$_POST, $this->answers[0][2]]);
    }

    public function testFilesOfAnyDepthAreATree(): void
    {
        $leaf = static fn (string $at): array => [
            'name' => "n$at", 'full_path' => "n$at", 'type' => "t$at", 'tmp_name' => "/tmp/$at",
            'error' => 0, 'size' => 3,
        ];
        $files = [
            'one' => $leaf('1'),
            'many' => [
                'name' => ['a' => ['n2'], 'b' => 'n3'],
                'full_path' => ['a' => ['n2'], 'b' => 'n3'],
                'type' => ['a' => ['t2'], 'b' => 't3'],
                'tmp_name' => ['a' => ['/tmp/2'], 'b' => '/tmp/3'],
                'error' => ['a' => [0], 'b' => 0],
                'size' => ['a' => [3], 'b' => 3],
            ],
        ];
        $tree = ['one' => $leaf('1'), 'many' => ['a' => [$leaf('2')], 'b' => $leaf('3')]];
        self::assertEquals($tree, RequestFactory::files($files));
    }

    /** @return array{string, int} the output and the exit code */
    private function alone(string $handler): array
    {
        $code = "<?php return static function (array \$server): array { $handler };";
        $this->scratch = new ScratchDirectory(['handler.php' => $code]);
        $directory = $this->scratch->directory;
        $set = ['app' => $directory, 'kind' => 'callable', 'docroot' => "$directory/public"];
        file_put_contents("$directory/worker.php", '<?php
            function frankenphp_handle_request(callable $callback): bool {
                static $calls = 0;
                if ($calls++ < 2) { $callback(); return true; }
                return false;
            }
            function frankenphp_finish_request() { echo "|"; }
            function_exists("getallheaders") || eval("function getallheaders() { return []; }");
            require ' . var_export(dirname(__DIR__) . '/autoload.php', true) . ';
            $setup = new Stampede\Worker\Setup(...' . var_export($set, true) . ');
            exit(Stampede\Worker\Main::run(
                static fn () => Stampede\Worker\FrankenPhp\Start::worker($setup),
            ));');
        $command = [PHP_BINARY, '-n', '-d', 'display_errors=0', "$directory/worker.php"];
        $pipes = [1 => ['pipe', 'w'], 2 => ['file', "$directory/stderr", 'w']];
        $process = proc_open($command, $pipes, $lines);
        $out = (string) stream_get_contents($lines[1]);
        fclose($lines[1]);

        return [$out, proc_close($process)];
    }

    public function testTheWorkerServesUntilItIsToldToEnd(): void
    {
        $handler = 'static $n = 0; return ["status" => 200, "body" => (string) ++$n];';
        self::assertSame(['1|2|', 0], $this->alone($handler));
    }

    public function testAnAppThatExitsIsAnswered(): void
    {
        self::assertSame(['no entry', 0], $this->alone('echo "no entry"; exit;'));
    }

    public function testWhatWasPrintedBeforeAnErrorThatNobodyCatchesGoesOut(): void
    {
        $handler = 'echo "begun"; trigger_error("why", E_USER_ERROR);';
        self::assertSame(['begun', 255], $this->alone($handler));
    }
}
