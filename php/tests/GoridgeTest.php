<?php

declare(strict_types=1);

namespace Stampede\Worker\Tests;

use PHPUnit\Framework\TestCase;
use Stampede\Worker\Problem;
use Stampede\Worker\Request;
use Stampede\Worker\Response;
use Stampede\Worker\RoadRunner\Frame;
use Stampede\Worker\RoadRunner\Goridge;
use Stampede\Worker\RoadRunner\Proto;
use Stampede\Worker\RoadRunner\Relay;
use Stampede\Worker\RoadRunner\Spiral;
use Stampede\Worker\Uploads;

final class GoridgeTest extends TestCase
{
    /** @return array{Goridge, resource} the peer, and RoadRunner's end of the channel */
    private function peer(): array
    {
        [$ours, $theirs] = (array) stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
        stream_set_timeout($theirs, 2);

        return [new Goridge(new Relay($ours, $ours), sys_get_temp_dir()), $theirs];
    }

    private function sent(mixed $line): Frame
    {
        return Frame::read(static fn (int $length): string => (string) fread($line, $length));
    }

    private static function control(mixed $command): string
    {
        return (new Frame(Frame::CONTROL | Frame::JSON, (string) json_encode($command)))->bytes();
    }

    private static function request(string $target = '/', string $body = ''): string
    {
        $context = Proto::encodeText(1, '10.0.0.1') . Proto::encodeText(2, 'HTTP/1.1') . Proto::encodeText(3, 'GET')
            . Proto::encodeText(4, "http://h:8080$target") . Proto::encodeMap(5, ['X-A' => ['1', '2']])
            . Proto::encodeMap(6, ['c' => ['v']]) . Proto::encodeText(7, 'ignored') . Proto::encodeNumber(8, 0);

        return (new Frame(Frame::PROTO, $context . $body, [strlen($context)]))->bytes();
    }

    public function testAFrameIsWhatGoridgeWritesDown(): void
    {
        $bytes = self::control(['pid' => 1]);
        self::assertSame('130909000000', bin2hex(substr($bytes, 0, 6)));
        self::assertSame(crc32(substr($bytes, 0, 6)), unpack('V', $bytes, 6)[1]);
        self::assertSame('0000' . bin2hex('{"pid":1}'), bin2hex(substr($bytes, 10)));
        $begin = bin2hex((new Frame(Frame::PROTO, 'abc', [2]))->bytes());
        self::assertSame('148003000000', substr($begin, 0, 12));
        self::assertSame('02000000' . bin2hex('abc'), substr($begin, 24));
    }

    public function testItTellsItsPid(): void
    {
        [$peer, $line] = $this->peer();
        fwrite($line, self::control(['pid' => 4711]) . self::control(['stop' => true]));
        self::assertNull($peer->next(), 'asked to stop');
        $frame = $this->sent($line);
        self::assertSame(Frame::CONTROL | Frame::JSON, $frame->flags);
        self::assertSame(['pid' => getmypid()], json_decode($frame->payload, true));
    }

    public function testARequestComesAndItsAnswerGoes(): void
    {
        [$peer, $line] = $this->peer();
        fwrite($line, self::request('/p%20q?x=1', 'body'));
        $request = $peer->next();
        self::assertSame(['GET', '/p%20q?x=1'], [$request->method, $request->target]);
        self::assertSame(['body', 'http'], [$request->body, $request->scheme]);
        self::assertSame(['Host' => ['h:8080'], 'X-A' => ['1', '2']], $request->headers);
        self::assertSame([[], '10.0.0.1'], [$request->cookies, $request->remoteAddr]);
        $peer->answer(new Response(404, ['A' => ['1', '2'], 'B' => ['3']], 'gone'));
        $frame = $this->sent($line);
        self::assertSame(Frame::PROTO, $frame->flags);
        $context = Proto::decode($frame->payload);
        self::assertSame([404], $context[1]);
        self::assertSame(['A' => ['1', '2'], 'B' => ['3']], Proto::decodeMap($context[2]));
        self::assertSame('gone', $frame->body);
    }

    public function testAFormAndItsFilesAreParsedHere(): void
    {
        [$peer, $line] = $this->peer();
        $headers = ['Content-Type' => ['multipart/form-data; boundary=b'], 'Cookie' => ['c+d=1+2']];
        $context = Proto::encodeText(3, 'POST') . Proto::encodeText(4, 'https://h/') . Proto::encodeMap(5, $headers);
        $body = "--b\r\nContent-Disposition: form-data; name=\"a[]\"\r\n\r\n1\r\n"
            . "--b\r\nContent-Disposition: form-data; name=\"f[]\"; filename=\"d/n\"\r\n\r\nxyz\r\n--b--\r\n";
        fwrite($line, (new Frame(Frame::PROTO, $context . $body, [strlen($context)]))->bytes());
        $request = $peer->next();
        self::assertSame([['a' => ['1']], '', 'https'], [$request->form, $request->body, $request->scheme]);
        self::assertSame(['c+d' => '1+2'], $request->cookies);
        $file = $request->files['f'][0];
        self::assertSame(['n', 'd/n', 3], [$file['name'], $file['full_path'], $file['size']]);
        self::assertSame('xyz', file_get_contents($file['tmp_name']));
        Uploads::remove($request->files);
        self::assertSame(strlen($body), $request->bodyBytes());
    }

    /** A body that is no form, and one of a form whose file is on disk afterwards. */
    public function testAnUploadIsInMemoryOnce(): void
    {
        if (!function_exists('memory_reset_peak_usage')) {
            self::markTestSkipped('PHP before 8.2 cannot tell how much memory one part of a test needs');
        }
        $part = "--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"n\"\r\n\r\n";
        foreach (['application/octet-stream', 'multipart/form-data; boundary=b'] as $type) {
            $isForm = str_starts_with($type, 'multipart');
            // php.ini allows 2 MB for a file, unless it says otherwise.
            $size = $isForm ? 3 << 19 : 24 << 20;
            $context = Proto::encodeText(3, 'POST') . Proto::encodeText(4, 'http://h/')
                . Proto::encodeMap(5, ['Content-Type' => [$type]]);
            $path = (string) tempnam(sys_get_temp_dir(), 'frame');
            $file = fopen($path, 'w+b');
            [$begin, $end] = $isForm ? [$part, "\r\n--b--\r\n"] : ['', ''];
            $length = strlen($begin) + $size + strlen($end);
            $head = (new Frame(Frame::PROTO, $context, [strlen($context)], body: 'x'))->bytes();
            $begins = substr($head, 0, 2) . pack('V', strlen($context) + $length);
            fwrite($file, $begins . pack('V', crc32($begins)) . substr($head, 10, -1) . $begin);
            for ($written = 0; $written < $size; $written += 1 << 16) {
                fwrite($file, str_repeat('u', 1 << 16));
            }
            fwrite($file, $end);
            rewind($file);
            $peer = new Goridge(new Relay($file, $file), sys_get_temp_dir());
            gc_collect_cycles();
            $before = memory_get_usage();
            memory_reset_peak_usage();
            $request = $peer->next();
            $peak = memory_get_peak_usage() - $before;
            self::assertSame($isForm ? 0 : $size, strlen($request->body), $type);
            self::assertSame($isForm ? $size : null, $request->files['f']['size'] ?? null, $type);
            self::assertLessThan($length * 1.3, $peak, $type);
            Uploads::remove($request->files);
            unset($request, $peer);
            fclose($file);
            unlink($path);
        }
    }

    public function testARoadRunnerThatParsesFormsItselfIsNamed(): void
    {
        [$peer, $line] = $this->peer();
        $context = Proto::encodeText(3, 'POST') . Proto::encodeText(4, 'http://h/') . Proto::encodeNumber(8, 1);
        fwrite($line, (new Frame(Frame::PROTO, $context . '{"a":"1"}', [strlen($context)]))->bytes());
        $this->expectException(Problem::class);
        $this->expectExceptionMessage('needs `http.raw_body: true`');
        $peer->next();
    }

    public function testAStreamedAnswerGoesInFramesOfWhichTheLastEndsIt(): void
    {
        [$peer, $line] = $this->peer();
        $answer = new Response(201, ['A' => ['1']]);
        foreach (['one', 'two'] as $at => $piece) {
            $peer->sendPiece($answer, $piece);
            $frame = $this->sent($line);
            self::assertSame(Frame::STREAM, $frame->streamBits);
            self::assertSame($piece, $frame->body);
            self::assertSame($at === 0, $frame->options[0] > 0, 'the head goes with the first only');
        }
        $peer->endPieces($answer);
        self::assertEquals(new Frame(Frame::PROTO, '', [0]), $this->sent($line));
        $peer->endPieces($answer);
        self::assertGreaterThan(0, $this->sent($line)->options[0], 'without a piece the head goes with the end');
    }

    public function testAProcessThatEndsGivesTheNextRequestBack(): void
    {
        [$peer, $line] = $this->peer();
        fwrite($line, self::request() . self::request('/next') . self::control(['stop' => true]));
        $peer->next();
        $peer->answer(new Response(403));
        $peer->leave();
        self::assertSame([403], Proto::decode($this->sent($line)->payload)[1]);
        self::assertEquals(new Frame(Frame::PROTO, '{"stop":true}', [13]), $this->sent($line));
    }

    public function testAProcessThatEndsSaysNothingToACommand(): void
    {
        [$peer, $line] = $this->peer();
        fwrite($line, self::control(['stop' => true]));
        $peer->leave();
        stream_set_blocking($line, false);
        self::assertSame('', fread($line, 1));
    }

    public function testAnOlderRoadRunnerSpeaksJson(): void
    {
        [$peer, $line] = $this->peer();
        $context = (string) json_encode(['method' => 'GET', 'uri' => 'http://h/', 'headers' => []]);
        fwrite($line, (new Frame(Frame::JSON, $context, [strlen($context)]))->bytes());
        self::assertSame('/', $peer->next()->target);
        $peer->answer(new Response(200, [], 'b'));
        $frame = $this->sent($line);
        self::assertSame(
            [Frame::JSON, '{"status":200,"headers":{}}', 'b'],
            [$frame->flags, $frame->payload, $frame->body],
        );
    }

    public function testFramesTornAtEveryByteAreOneFrame(): void
    {
        $bytes = self::request('/torn', 'body');
        for ($at = 1; $at < strlen($bytes); $at++) {
            $parts = [substr($bytes, 0, $at), substr($bytes, $at), self::control(['stop' => true])];
            $peer = new Goridge(new Relay(ChunkedStream::open($parts), fopen('php://memory', 'w')), sys_get_temp_dir());
            $request = $peer->next();
            self::assertSame(['/torn', 'body'], [$request->target, $request->body], "at $at");
            self::assertNull($peer->next());
        }
    }

    public function testACutOffFrameIsSaidAndAClosedLineIsTheEnd(): void
    {
        $bytes = self::request();
        for ($at = 0; $at < strlen($bytes); $at++) {
            $peer = new Goridge(new Relay(ChunkedStream::open([substr($bytes, 0, $at)]), STDERR), sys_get_temp_dir());
            try {
                self::assertNull($peer->next());
                self::assertSame(0, $at, 'only before a frame');
            } catch (Problem $problem) {
                $said = 'RoadRunner closed the line in the middle of a frame';
                self::assertSame($said, $problem->getMessage(), "at $at");
            }
        }
    }

    /** @return array<string, array{string, string}> */
    public function malformedBytes(): array
    {
        $good = self::request();
        $flipped = $good;
        $flipped[2] = chr(ord($good[2]) ^ 1);
        $command = self::control(['dance' => 1]);
        $noOption = (new Frame(Frame::PROTO, 'x'))->bytes();
        $beyond = (new Frame(Frame::PROTO, 'x', [2]))->bytes();
        $cut = (new Frame(Frame::PROTO, "\x0a\x7f", [2]))->bytes();

        return [
            'no frame' => ['GET / HTTP/1.1 and so on', 'no frame of goridge: 474554202f20485454502f31'],
            'another length' => [$flipped, 'no frame of goridge: '],
            'unknown command' => [$command, 'unknown command `{"dance":1}`'],
            'no option' => [$noOption, 'does not say where its body begins'],
            'beyond' => [$beyond, 'does not say where its body begins'],
            'message cut off' => [$cut, 'a message of RoadRunner is cut off'],
        ];
    }

    /** @dataProvider malformedBytes */
    public function testWhatIsMalformedIsNamed(string $bytes, string $said): void
    {
        [$peer, $line] = $this->peer();
        fwrite($line, $bytes);
        $this->expectException(Problem::class);
        $this->expectExceptionMessage($said);
        $peer->next();
    }

    public function testSpiralsOwnPackageIsAskedInItsWords(): void
    {
        $worker = new class {
            /** @var list<mixed> */
            public array $answered = [];

            public function waitRequest(): ?object
            {
                return (object) [
                    'remoteAddr' => '::1', 'protocol' => 'HTTP/2.0', 'method' => 'GET',
                    'uri' => 'http://h/s', 'headers' => ['Cookie' => ['a=b']], 'cookies' => [],
                    'uploads' => [], 'attributes' => [], 'query' => [], 'body' => 'x',
                    'parsed' => false,
                ];
            }

            /** @param array<string, list<string>> $headers */
            public function respond(int $status, string $body, array $headers, bool $isLast = true): void
            {
                $this->answered = [$status, $body, $headers, $isLast];
            }

            public function getWorker(): object
            {
                return $this;
            }

            public function stop(): void
            {
                $this->answered = ['stop'];
            }
        };
        self::assertNull(Spiral::createIfAvailable(sys_get_temp_dir()));
        $peer = new Spiral($worker, sys_get_temp_dir());
        $request = $peer->next();
        self::assertInstanceOf(Request::class, $request);
        self::assertSame(['/s', 'x', ['a' => 'b']], [$request->target, $request->body, $request->cookies]);
        $peer->answer(new Response(200, ['A' => ['1']], 'b'));
        self::assertSame([200, 'b', ['A' => ['1']], true], $worker->answered);
        $peer->sendPiece(new Response(200, ['A' => ['1']]), 'b');
        self::assertSame([200, 'b', ['A' => ['1']], false], $worker->answered);
        $peer->endPieces(new Response(200, ['A' => ['1']]));
        self::assertSame([200, '', [], true], $worker->answered);
        $peer->leave();
        self::assertSame(['stop'], $worker->answered);
    }
}
