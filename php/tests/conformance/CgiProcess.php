<?php

declare(strict_types=1);

namespace Stampede\Worker\Tests\Conformance;

use Stampede\Worker\Tests\ScratchDirectory;

/** A real PHP that speaks FastCGI: what it makes of a request is right. */
final class CgiProcess
{
    private const BEGIN = 1;
    private const END = 3;
    private const PARAMS = 4;
    private const STDIN = 5;
    private const STDOUT = 6;

    /** @var resource */
    private $process;
    private string $address;
    private ScratchDirectory $scratch;

    /** @param array<string, string> $ini entries of php.ini */
    public function __construct(string $program, array $ini)
    {
        $this->scratch = new ScratchDirectory();
        $directory = $this->scratch->directory;
        $this->address = "$directory/php.sock";
        $ini += [
            'error_log' => "$directory/log", 'log_errors' => '1', 'display_errors' => '0',
            'upload_tmp_dir' => $directory, 'variables_order' => 'EGPCS', 'register_argc_argv' => '0',
        ];
        $options = ['-n'];
        foreach ($ini as $name => $value) {
            array_push($options, '-d', "$name=$value");
        }
        $log = ['file', "$directory/log", 'a'];
        $command = [$program, ...$options, '-b', $this->address];
        $streams = [['file', '/dev/null', 'r'], $log, $log];
        // It would end after 500 requests.
        $environment = ['PHP_FCGI_MAX_REQUESTS' => '0'];
        $this->process = proc_open($command, $streams, $pipes, null, $environment);
    }

    public function __destruct()
    {
        proc_terminate($this->process, SIGKILL);
        proc_close($this->process);
    }

    /** Returns the program, of the version that runs this; null if there is none. */
    public static function find(): ?string
    {
        foreach (['php-cgi', 'php-cgi' . PHP_MAJOR_VERSION . '.' . PHP_MINOR_VERSION] as $name) {
            exec("command -v $name && $name -n -v 2>/dev/null", $lines);
            if (str_starts_with($lines[1] ?? '', 'PHP ' . PHP_VERSION . ' ')) {
                return $lines[0];
            }
        }

        return null;
    }

    /**
     * @param array<string, string> $parameters
     * @return array{list<string>, string} lines of the head, and the body
     */
    public function ask(array $parameters, string $body): array
    {
        $bytes = self::record(self::BEGIN, "\0\1\0\0\0\0\0\0");
        $pairs = '';
        foreach ($parameters as $name => $value) {
            $pairs .= pack('NN', strlen($name) | 1 << 31, strlen($value) | 1 << 31) . $name . $value;
        }
        foreach ([[self::PARAMS, $pairs], [self::STDIN, $body]] as [$type, $text]) {
            foreach ($text === '' ? [] : str_split($text, 0x8000) as $piece) {
                $bytes .= self::record($type, $piece);
            }
            $bytes .= self::record($type, '');
        }
        $connection = $this->connect();
        fwrite($connection, $bytes);
        $out = '';
        while (strlen($head = (string) stream_get_contents($connection, 8)) === 8) {
            ['type' => $type, 'length' => $length, 'padding' => $padding]
                = (array) unpack('Cversion/Ctype/nid/nlength/Cpadding', $head);
            $text = $length + $padding === 0 ? '' : (string) stream_get_contents($connection, $length + $padding);
            $out .= $type === self::STDOUT ? substr($text, 0, $length) : '';
            if ($type === self::END) {
                break;
            }
        }
        [$head, $body] = explode("\r\n\r\n", $out, 2) + ['', ''];

        return [explode("\r\n", $head), $body];
    }

    /** @return resource */
    private function connect()
    {
        for ($left = 500; $left > 0; $left--) {
            $connection = @stream_socket_client("unix://{$this->address}");
            if ($connection !== false) {
                stream_set_timeout($connection, 10);

                return $connection;
            }
            usleep(10_000);
        }
        throw new \RuntimeException((string) file_get_contents("{$this->scratch->directory}/log"));
    }

    private static function record(int $type, string $text): string
    {
        return pack('CCnnCx', 1, $type, 1, strlen($text), 0) . $text;
    }
}
