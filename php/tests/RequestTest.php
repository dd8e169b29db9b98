<?php

declare(strict_types=1);

namespace Stampede\Worker\Tests;

use PHPUnit\Framework\TestCase;
use Stampede\Worker\Request;
use Stampede\Worker\ServerVariables;
use Stampede\Worker\Uploads;

final class RequestTest extends TestCase
{
    public function testServerVariablesAreAsAWebServerFillsThem(): void
    {
        $headers = [
            'Host' => ['example.test:8080'],
            'Content-Type' => ['text/plain'],
            'X-Twice' => ['a', 'b'],
            'Proxy' => ['http://evil.test'],
        ];
        $request = new Request('PUT', '/a%20b?x[]=1&y=2', $headers, 'body');
        $server = ServerVariables::build($request, ['APP_ENV' => 'prod', 'REQUEST_URI' => 'old'], '/w', '/i.php');
        $expected = [
            'REQUEST_METHOD' => 'PUT', 'REQUEST_URI' => '/a%20b?x[]=1&y=2',
            'QUERY_STRING' => 'x[]=1&y=2', 'SERVER_NAME' => 'example.test',
            'SERVER_PORT' => '8080', 'SERVER_PROTOCOL' => 'HTTP/1.1', 'CONTENT_TYPE' => 'text/plain',
            'HTTP_HOST' => 'example.test:8080', 'HTTP_X_TWICE' => 'a, b', 'APP_ENV' => 'prod',
            'SCRIPT_FILENAME' => '/w/i.php', 'REMOTE_ADDR' => '127.0.0.1',
        ];
        foreach ($expected as $key => $value) {
            self::assertSame($value, $server[$key], $key);
        }
        self::assertArrayNotHasKey('HTTP_PROXY', $server);
        self::assertArrayNotHasKey('HTTPS', $server);
        self::assertSame(['x' => ['1'], 'y' => '2'], $request->query());
        self::assertSame('/a%20b', $request->path());
    }

    public function testOfHttpsTheServerVariablesTell(): void
    {
        $server = ServerVariables::build(new Request(scheme: 'https'), [], '/w', '/i.php');
        self::assertSame(['on', '443'], [$server['HTTPS'], $server['SERVER_PORT']]);
    }

    public function testFilesAreTurnedIntoPhpsOwnShape(): void
    {
        $file = static fn (string $name): array => [
            'name' => $name, 'type' => 't', 'size' => 3, 'error' => 0, 'tmp_name' => "/$name",
        ];
        $request = new Request(files: ['one' => $file('a'), 'many' => ['x' => [$file('b')]]]);
        $files = Uploads::superglobal($request->files);
        self::assertSame($file('a')['tmp_name'], $files['one']['tmp_name']);
        self::assertSame(['x' => ['b']], $files['many']['name']);
        self::assertSame(['x' => [3]], $files['many']['size']);
    }
}
