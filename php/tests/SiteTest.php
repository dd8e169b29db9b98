<?php

declare(strict_types=1);

namespace Stampede\Worker\Tests;

use PHPUnit\Framework\TestCase;
use Stampede\Worker\App\CallableApp;
use Stampede\Worker\Request;
use Stampede\Worker\Response;
use Stampede\Worker\Site;

final class SiteTest extends TestCase
{
    /** @var list<string> */
    private array $log = [];
    private ScratchDirectory $scratch;
    /** @var array<string, mixed> */
    private array $server;
    private string $cwd;

    protected function setUp(): void
    {
        $this->server = $_SERVER;
        $this->cwd = (string) getcwd();
    }

    protected function tearDown(): void
    {
        $_SERVER = $this->server;
        chdir($this->cwd);
    }

    /** @param array<string, string> $files */
    private function site(string $handler, array $files = [], bool $reboot = false): Site
    {
        $code = "<?php return static function (array \$server): array { $handler };";
        $this->scratch = new ScratchDirectory(['handler.php' => $code] + $files);
        $app = new CallableApp("{$this->scratch->directory}/handler.php");
        $app->reboot();
        $log = function (string $line): void {
            $this->log[] = $line;
        };

        return new Site($app, "{$this->scratch->directory}/public", 'index.php', $reboot, $log);
    }

    public function testTheCatalogsOwnAppAnswers(): void
    {
        $app = new CallableApp(__DIR__ . '/../../apps/hello/handler.php');
        $app->reboot();
        $site = new Site($app, __DIR__ . '/../../apps/hello/public');
        $response = $site->answer(new Request(headers: ['Host' => ['h'], 'X-A' => ['1']]));
        self::assertSame(200, $response->status);
        self::assertSame(['Content-Type' => ['application/json']], $response->headers);
        $body = json_decode($response->body, true);
        self::assertSame('hello', $body['message']);
        self::assertSame(['host' => ['h'], 'x-a' => ['1']], $body['headers']);
    }

    public function testWhatTheAppPrintsComesBeforeItsBody(): void
    {
        $site = $this->site("echo 'a'; ob_start(); echo 'b'; ob_end_flush(); ob_start(); echo 'c';
            return ['status' => 200, 'body' => 'd'];");
        $response = $site->answer(new Request());
        self::assertSame('abcd', $response->body);
        self::assertSame(['text/html; charset=UTF-8'], $response->headers['Content-Type']);
        self::assertSame('abcd', $site->answer(new Request())->body, 'nothing stays behind');
    }

    public function testAnExceptionIsA500WithALogLine(): void
    {
        $site = $this->site("echo 'so far'; throw new LogicException(\"one\\ntwo\");");
        $response = $site->answer(new Request('POST', '/x?y'));
        self::assertSame([500, 'so far'], [$response->status, $response->body]);
        $begin = 'stampede: POST /x?y: LogicException: one two in ';
        self::assertStringStartsWith($begin, $this->log[0]);
        self::assertSame(500, $site->answer(new Request())->status, 'and it lives on');
    }

    public function testAnAnswerThatIsNoneIsA500(): void
    {
        self::assertSame(500, $this->site('return [];')->answer(new Request())->status);
        self::assertStringContainsString('no status', $this->log[0]);
    }

    public function testSuperglobalsAreTheRequestsAndGoWithIt(): void
    {
        $site = $this->site("return ['status' => 200, 'body' => json_encode([
            \$_GET, \$_POST, \$_COOKIE, \$_REQUEST, \$_FILES['f']['name'], \$_SERVER['REQUEST_URI'],
            basename(getcwd())])];");
        $file = ['name' => 'n', 'type' => '', 'size' => 1, 'error' => 0, 'tmp_name' => '/t'];
        $request = new Request('POST', '/p?g=1', [], '', ['c' => '2'], ['p' => '3'], ['f' => $file]);
        self::assertSame(
            '[{"g":"1"},{"p":"3"},{"c":"2"},{"g":"1","p":"3"},"n","\/p?g=1","public"]',
            $site->answer($request)->body,
        );
        $site->cleanUp();
        self::assertSame([[], [], [], []], [$_GET, $_POST, $_COOKIE, $_FILES]);
        self::assertArrayNotHasKey('REQUEST_URI', $_SERVER);
    }

    public function testRebootRunsTheHandlersFileAgain(): void
    {
        $site = $this->site("return ['status' => 200, 'body' => 'old'];", [], true);
        self::assertSame('old', $site->answer(new Request())->body);
        $new = "<?php return fn () => ['status' => 200, 'body' => 'new'];";
        file_put_contents("{$this->scratch->directory}/handler.php", $new);
        $site->cleanUp();
        self::assertSame('new', $site->answer(new Request())->body);
    }

    public function testAScriptOfTheDocrootIsRun(): void
    {
        $files = [
            'public/a b.php' => '<?php http_response_code(404); echo $_GET["x"], __LINE__;',
            'public/json.php' => '<?php echo json_encode(["a" => basename(getcwd())]);',
            'public/sub/throws.php' => '<?php throw new Exception("no");',
            'secret.php' => '<?php echo "secret";',
        ];
        $site = $this->site("return ['status' => 200, 'body' => 'app'];", $files);
        $ask = static fn (string $target): Response => $site->answer(new Request('GET', $target));
        $plain = $ask('/a%20b.php?x=7');
        self::assertSame([404, '71'], [$plain->status, $plain->body]);
        self::assertSame(['text/html; charset=UTF-8'], $plain->headers['Content-Type']);
        $json = $ask('/json.php');
        self::assertSame([200, '{"a":"public"}'], [$json->status, $json->body]);
        self::assertSame(['application/json'], $json->headers['Content-Type']);
        self::assertSame(500, $ask('/sub/throws.php')->status);
        foreach (['/index.php', '/', '/none.php', '/../secret.php', '/%2e%2e/secret.php'] as $app) {
            self::assertSame('app', $ask($app)->body, $app);
        }
    }
}
