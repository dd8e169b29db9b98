<?php

declare(strict_types=1);

namespace Stampede\Worker\Tests;

use PHPUnit\Framework\TestCase;
use Stampede\Worker\Form;
use Stampede\Worker\Request;
use Stampede\Worker\Uploads;

final class FormTest extends TestCase
{
    private function read(string $type, string $body, string $cookie = ''): Request
    {
        $headers = ['Content-Type' => [$type], 'Cookie' => [$cookie]];
        $request = new Request('POST', '/', $headers, $body);
        Form::parse($request, sys_get_temp_dir());

        return $request;
    }

    /** @param list<string> $parts */
    private static function multipart(array $parts): string
    {
        $text = array_map(static fn (string $part): string => "--b\r\n$part\r\n", $parts);

        return implode('', $text) . "--b--\r\n";
    }

    public function testCookiesAreDecoded(): void
    {
        $request = $this->read('', '', 'a=1; b=x%20y+z;c; =d;a=2');
        self::assertSame(['a' => '1', 'b' => 'x y z'], $request->cookies);
    }

    public function testAFormIsParsedAndItsBodyStays(): void
    {
        $request = $this->read('application/x-www-form-urlencoded; charset=UTF-8', 'a[b]=1&c=%26');
        self::assertSame(['a' => ['b' => '1'], 'c' => '&'], $request->form);
        self::assertSame('a[b]=1&c=%26', $request->body);
    }

    public function testFieldsNestAndFilesAreWritten(): void
    {
        $body = "ignored\r\n" . self::multipart([
            "Content-Disposition: form-data; name=\"a[b][]\"\r\n\r\n1\r\n2",
            "Content-Disposition: form-data; name=\"a[b][]\"\r\n\r\n",
            "Content-Type: image/png\r\nContent-Disposition: form-data; name=\"f[]\";"
                . " filename=\"../a \\\"b\\\".png\"\r\n\r\n--\r\n\r\nb",
            "content-disposition: form-data; name=none; filename=\"\"\r\n\r\n",
        ]);
        $request = $this->read('multipart/form-data; boundary="b"', $body);
        self::assertSame(['a' => ['b' => ["1\r\n2", '']]], $request->form);
        self::assertSame('', $request->body);
        $file = $request->files['f'][0];
        self::assertSame(['a "b".png', 'image/png', 7, UPLOAD_ERR_OK], [
            $file['name'], $file['type'], $file['size'], $file['error'],
        ]);
        self::assertSame("--\r\n\r\nb", file_get_contents($file['tmp_name']));
        self::assertSame(UPLOAD_ERR_NO_FILE, $request->files['none']['error']);
        Uploads::remove($request->files);
        self::assertFileDoesNotExist($file['tmp_name']);
    }

    public function testWhatIsCutOffIsNoPart(): void
    {
        $whole = self::multipart(["Content-Disposition: form-data; name=\"a\"\r\n\r\n1"]);
        for ($length = 0; $length < strlen($whole); $length++) {
            $request = $this->read('multipart/form-data; boundary=b', substr($whole, 0, $length));
            self::assertContains($request->form, [[], ['a' => '1']], "at $length");
        }
        self::assertSame(['a' => '1'], $request->form);
    }

    public function testOtherBodiesStay(): void
    {
        $request = $this->read('application/json', '{"a":1}');
        self::assertSame([[], [], '{"a":1}'], [$request->form, $request->files, $request->body]);
    }
}
