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
        $request = new Request('POST', '/', ['Content-Type' => [$type], 'Cookie' => [$cookie]]);
        Form::parse($request, sys_get_temp_dir(), $body);

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
        $request = $this->read('', '', 'a=1; b=x%20y+z;c; =d;a=2;e%20f=3');
        self::assertSame(['a' => '1', 'b' => 'x y+z', 'c' => '', 'e%20f' => '3'], $request->cookies);
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

    public function testPiecesMayBeTornAnywhere(): void
    {
        $body = self::multipart([
            "Content-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n-",
            "Content-Disposition: form-data; name=\"f\"; filename=\"n\"\r\n\r\n\r\n--\r\n",
        ]);
        for ($at = 0; $at <= strlen($body); $at++) {
            $request = new Request('POST', '/', ['Content-Type' => ['multipart/form-data; boundary=b']]);
            $form = new Form($request, sys_get_temp_dir());
            $form->feed(substr($body, 0, $at));
            $form->feed(substr($body, $at));
            $form->finish();
            self::assertSame(['a' => "1\r\n-"], $request->form, "torn at $at");
            $file = (string) file_get_contents($request->files['f']['tmp_name']);
            Uploads::remove($request->files);
            self::assertSame("\r\n--\r\n", $file, "torn at $at");
        }
    }

    public function testALongUploadIsNotHeldInMemory(): void
    {
        $request = new Request('POST', '/', ['Content-Type' => ['multipart/form-data; boundary=b']]);
        $form = new Form($request, sys_get_temp_dir());
        $form->feed("--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"n\"\r\n\r\n");
        $before = memory_get_usage();
        $most = 0;
        // Beyond `upload_max_filesize` a file is no longer written either.
        for ($pieces = 0; $pieces < 256; $pieces++) {
            $form->feed(str_repeat('x', 1 << 16));
            $most = max($most, memory_get_usage() - $before);
        }
        $form->discard();
        self::assertLessThan(1 << 18, $most);
    }

    public function testABodyThatIsDiscardedLeavesNoFiles(): void
    {
        $directory = sys_get_temp_dir() . '/stampede-discarded-' . bin2hex(random_bytes(6));
        mkdir($directory);
        $request = new Request('POST', '/', ['Content-Type' => ['multipart/form-data; boundary=b']]);
        $form = new Form($request, $directory);
        $form->feed(self::multipart(["Content-Disposition: form-data; name=\"f\"; filename=\"n\"\r\n\r\nx"]));
        self::assertCount(1, glob("$directory/*") ?: []);
        $form->discard();
        self::assertSame([], glob("$directory/*"));
        rmdir($directory);
        $form->finish();
        self::assertSame([[], []], [$request->form, $request->files]);
    }

    public function testAnErrorHandlerOfTheAppDoesNotHearOfTooManyFields(): void
    {
        $most = (int) ini_get('max_input_vars');
        $log = ini_set('error_log', '/dev/null');
        set_error_handler(static fn (int $code, string $text) => throw new \ErrorException($text));
        try {
            $form = $this->read('application/x-www-form-urlencoded', str_repeat('a[]=1&', $most + 5))->form;
        } finally {
            restore_error_handler();
            ini_set('error_log', (string) $log);
        }
        self::assertCount($most + 1, $form['a']);
    }

    public function testOtherBodiesStay(): void
    {
        $request = $this->read('application/json', '{"a":1}');
        self::assertSame([[], [], '{"a":1}'], [$request->form, $request->files, $request->body]);
    }
}
