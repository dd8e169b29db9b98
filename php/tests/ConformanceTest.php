<?php

declare(strict_types=1);

namespace Stampede\Worker\Tests;

use PHPUnit\Framework\TestCase;
use Stampede\Worker\Tests\Conformance\CgiProcess;
use Stampede\Worker\Tests\Conformance\Generator;
use Stampede\Worker\Tests\Conformance\RawRequest;

/**
 * What this library makes of a request is what PHP itself makes of it, byte for byte. A real php-cgi
 * says what is right.
 */
final class ConformanceTest extends TestCase
{
    private const APP = __DIR__ . '/conformance/app';
    /** Entries of `$_SERVER` that differ by nature. */
    private const OTHER = [
        'SERVER_SOFTWARE', 'REQUEST_TIME', 'REQUEST_TIME_FLOAT', 'REMOTE_PORT', 'FCGI_ROLE',
        'PHP_FCGI_MAX_REQUESTS',
    ];
    private const SEED = 20_240_611;
    private const GENERATED = 400;

    private static CgiProcess $cgi;
    /** @var list<array{string, int, array<string, list<string>>, string}> */
    private static array $answers;

    public static function setUpBeforeClass(): void
    {
        $program = CgiProcess::find();
        if ($program === null) {
            self::markTestSkipped('php-cgi of PHP ' . PHP_VERSION . ' is not installed');
        }
        $ini = RawRequest::corpus()[0];
        self::$cgi = new CgiProcess($program, $ini);
        $options = [];
        foreach ($ini + ['display_errors' => 'stderr'] as $name => $value) {
            array_push($options, '-d', "$name=$value");
        }
        $subject = [__DIR__ . '/conformance/subject.php', (string) self::SEED, (string) self::GENERATED];
        $command = [PHP_BINARY, '-n', ...$options, ...$subject];
        $process = proc_open($command, [1 => ['pipe', 'w'], 2 => ['file', '/dev/null', 'w']], $pipes);
        self::$answers = unserialize((string) stream_get_contents($pipes[1]), ['allowed_classes' => false]);
        fclose($pipes[1]);
        proc_close($process);
    }

    /** @return iterable<string, array{int, RawRequest}> the place among the answers, and the request */
    public static function requests(): iterable
    {
        // Where the app ends PHP, the tests of processes look on, and those of real runtimes.
        $requests = array_filter(RawRequest::corpus()[1], static fn (RawRequest $raw): bool => !$raw->ends);
        $generator = new Generator(self::SEED);
        for ($left = self::GENERATED; $left > 0; $left--) {
            $raw = $generator->request();
            $requests[$raw->name] = $raw;
        }
        $at = 0;
        foreach ($requests as $name => $raw) {
            yield $name => [$at++, $raw];
        }
    }

    /** @dataProvider requests */
    public function testARequestMeansWhatItMeansToPhp(int $at, RawRequest $raw): void
    {
        [$head, $expected] = self::$cgi->ask($raw->parameters(self::APP . '/public'), $raw->body);
        [$name, $status, $headers, $body] = self::$answers[$at];
        self::assertSame($raw->name, $name);
        self::assertSame(self::status($head), $status, implode("\n", $head));
        if ($raw->method() !== 'HEAD') {
            self::assertSame(self::readable($expected), self::readable($body), self::shown($raw));
        }
        foreach ($headers as $name => $values) {
            $lines = preg_grep('/^' . preg_quote($name, '/') . ':/i', $head);
            $actual = array_map(static fn (string $line): string => trim(explode(':', $line, 2)[1]), $lines);
            self::assertSame($values, array_values($actual), $name);
        }
    }

    public function testTheCorpusIsLarge(): void
    {
        self::assertGreaterThanOrEqual(120, count(RawRequest::corpus()[1]));
    }

    private static function shown(RawRequest $raw): string
    {
        return "\n" . implode("\n", $raw->head) . "\n\n" . substr($raw->body, 0, 600);
    }

    /** @param list<string> $head */
    private static function status(array $head): int
    {
        $line = current(preg_grep('/^Status: /i', $head) ?: ['Status: 200']);

        return (int) substr($line, strlen('Status: '));
    }

    /** Returns what the app shows, by variable; a page that is no JSON as it is. */
    private static function readable(string $body): mixed
    {
        $shown = json_decode($body, true);
        if (!is_array($shown)) {
            return $body;
        }
        $server = array_column($shown['server'], 1, 0);
        ksort($server);
        $shown['server'] = array_diff_key($server, array_flip(self::OTHER));

        return $shown;
    }
}
