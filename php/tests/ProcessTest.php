<?php

declare(strict_types=1);

namespace Stampede\Worker\Tests;

use PHPUnit\Framework\TestCase;
use Stampede\Worker\RoadRunner\Frame;
use Stampede\Worker\RoadRunner\Proto;

/** Tests a worker as a process of its own, over its standard streams. */
final class ProcessTest extends TestCase
{
    private ScratchDirectory $scratch;

    /**
     * Sends everything at once; returns statuses with bodies, standard error, and the exit code.
     *
     * @param array<string, string> $files
     * @return array{list<string>, string, int}
     */
    private function talk(string $handler, string $bytes, array $files = []): array
    {
        $code = "<?php return static function (array \$server): array { $handler };";
        $this->scratch = new ScratchDirectory(['handler.php' => $code] + $files);
        $directory = $this->scratch->directory;
        $set = ['app' => $directory, 'kind' => 'callable', 'docroot' => "$directory/public"];
        $text = '<?php require ' . var_export(dirname(__DIR__) . '/autoload.php', true) . ';
            $setup = new Stampede\Worker\Setup(...' . var_export($set, true) . ');
            exit(Stampede\Worker\Main::run(
                static fn () => Stampede\Worker\RoadRunner\Start::worker($setup),
            ));';
        file_put_contents("$directory/worker.php", $text);
        $set = ['-d', 'display_errors=0', '-d', 'log_errors=1'];
        $command = [PHP_BINARY, '-n', ...$set, "$directory/worker.php"];
        $pipes = [['pipe', 'r'], ['pipe', 'w'], ['file', "$directory/stderr", 'w']];
        $process = proc_open($command, $pipes, $lines);
        fwrite($lines[0], $bytes);
        fclose($lines[0]);
        $out = (string) stream_get_contents($lines[1]);
        fclose($lines[1]);
        $exit = proc_close($process);

        return [self::answers($out), (string) file_get_contents("$directory/stderr"), $exit];
    }

    /** @return list<string> */
    private static function answers(string $out): array
    {
        $answers = [];
        for ($at = 0; $at < strlen($out);) {
            $frame = Frame::read(static function (int $length) use ($out, &$at): string {
                $at += $length;

                return substr($out, $at - $length, $length);
            });
            if ($frame->payload === '{"stop":true}') {
                $answers[] = 'for another';
                continue;
            }
            $context = Proto::decode($frame->payload);
            $answers[] = ($context[1][0] ?? '') . ' ' . $frame->body;
        }

        return $answers;
    }

    private static function ask(string $target): string
    {
        $context = Proto::encodeText(3, 'GET') . Proto::encodeText(4, "http://h$target");

        return (new Frame(Frame::PROTO, $context, [strlen($context)]))->bytes();
    }

    public function testWhatIsPrintedNeverReachesStandardOutput(): void
    {
        $handler = 'echo "a"; while (ob_get_level() && @ob_end_flush()); echo "b"; flush();
            print_r(["c"]); return ["status" => 200, "body" => "d"];';
        [$answers, $log, $exit] = $this->talk($handler, self::ask('/') . self::ask('/'));
        $text = 'ab' . print_r(['c'], true) . 'd';
        self::assertSame([["200 $text", "200 $text"], '', 0], [$answers, $log, $exit]);
    }

    public function testAStreamedAnswerComesInFrames(): void
    {
        $handler = 'return ["status" => 200, "body" => (static function () { yield "a"; echo "b"; yield "c"; })()];';
        [$answers, $log, $exit] = $this->talk($handler, self::ask('/') . self::ask('/'));
        self::assertSame(['200 a', ' b', ' c', ' '], array_slice($answers, 0, 4));
        self::assertSame([8, '', 0], [count($answers), $log, $exit]);
    }

    public function testAnAppThatExitsWhileItStreamsEndsItsAnswer(): void
    {
        $handler = 'return ["status" => 200, "body" => (static function () { yield "a"; echo "b"; exit; })()];';
        [$answers] = $this->talk($handler, self::ask('/'));
        self::assertSame(['200 a', ' b', ' '], $answers);
    }

    public function testAnExceptionIsLoggedAndTheWorkerLives(): void
    {
        $handler = 'if ($server["REQUEST_URI"] === "/bad") { throw new Error("why"); }
            return ["status" => 200, "body" => "fine"];';
        [$answers, $log, $exit] = $this->talk($handler, self::ask('/bad') . self::ask('/'));
        self::assertSame([['500 ', '200 fine'], 0], [$answers, $exit]);
        self::assertStringContainsString('stampede: GET /bad: Error: why in ', $log);
    }

    public function testAnAppThatExitsIsAnswered(): void
    {
        [$answers] = $this->talk('http_response_code(403); echo "no entry"; exit;', self::ask('/'));
        self::assertSame(['403 no entry'], $answers);
    }

    public function testARequestAfterAnExitIsForAnotherProcess(): void
    {
        $handler = 'session_start(); register_shutdown_function(static function () { $_SESSION["a"] = 1; });
            http_response_code(403); exit;';
        [$answers, $log] = $this->talk($handler, self::ask('/') . self::ask('/next'));
        self::assertSame([['403 ', 'for another'], ''], [$answers, $log]);
    }

    public function testAnErrorThatNobodyCatchesIsA500(): void
    {
        $handler = 'ini_set("memory_limit", "8M"); str_repeat("x", 64 << 20);';
        [$answers, $log, $exit] = $this->talk($handler, self::ask('/'));
        self::assertSame([['500 '], 255], [$answers, $exit]);
        self::assertStringContainsString('Allowed memory size', $log);
    }

    public function testAMalformedFrameEndsTheWorkerWithAWord(): void
    {
        $handler = 'return ["status" => 200, "body" => "fine"];';
        [$answers, $log, $exit] = $this->talk($handler, self::ask('/') . str_repeat('?', 12));
        self::assertSame([['200 fine'], 1], [$answers, $exit]);
        self::assertStringContainsString(
            'stampede: the worker ends: Stampede\Worker\Problem: what RoadRunner sent is no frame',
            $log,
        );
    }

    public function testAnAppThatCannotBootIsSaid(): void
    {
        [$answers, $log, $exit] = $this->talk('(', '');
        self::assertSame([[], 1], [$answers, $exit]);
        self::assertStringContainsString('the worker ends: ParseError: ', $log);
    }

    public function testTheProbeOfStampedeAnswersAsAScript(): void
    {
        $probe = file_get_contents(__DIR__ . '/../../crates/stack/src/process/probe.php');
        $asks = self::ask('/p.php?show=1') . self::ask('/p.php?plant=1') . self::ask('/p.php');
        $handler = 'return ["status" => 200, "body" => "app"];';
        $files = ['public/p.php' => (string) $probe];
        [$answers, $log] = $this->talk($handler, $asks . self::ask('/'), $files);
        [$shown, , $seen] = array_map(
            static fn (string $one): array => (array) json_decode(substr($one, 4), true),
            array_slice($answers, 0, 3),
        );
        self::assertSame(['cli', PHP_VERSION], [$shown['sapi'], $shown['php_version']]);
        self::assertContains('class', $seen['seen'], 'a worker keeps it');
        self::assertSame(['200 app', ''], [$answers[3], $log]);
    }
}
