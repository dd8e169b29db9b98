<?php

declare(strict_types=1);

namespace Stampede\Worker\Tests;

/** Runs a worker script as a process of its own, on a port of its own. */
final class WorkerProcess
{
    public ScratchDirectory $scratch;
    public int $pid;
    public string $name;
    /** @var resource */
    private $process;

    /**
     * @param string $part the library's part, as `worker:` of a runtime names it
     * @param string $handler body of the app's handler, or its whole file
     * @param list<string> $doubles doubles of the libraries that the runtime brings
     * @param array<string, mixed> $settings
     * @param array<string, string> $files files of the app, beside its handler
     */
    public function __construct(
        string $part,
        array $doubles,
        string $handler,
        array $settings = [],
        array $files = [],
    ) {
        $code = str_starts_with($handler, '<?php')
            ? $handler
            : "<?php return static function (array \$server): array { $handler };";
        $this->scratch = new ScratchDirectory(['handler.php' => $code, 'tmp/none' => ''] + $files);
        $directory = $this->scratch->directory;
        $this->name = self::freePort();
        $set = [
            'app' => $directory, 'kind' => 'callable', 'docroot' => "$directory/public", 'dir' => $directory,
            'port' => (int) substr((string) strrchr($this->name, ':'), 1), 'settings' => $settings,
        ];
        $files = array_map(static fn (string $one): string =>
            is_file($one) ? $one : __DIR__ . "/doubles/$one.php", $doubles);
        $text = '<?php foreach (' . var_export([dirname(__DIR__) . '/autoload.php', ...$files], true)
            . ' as $file) { require $file; }
            $setup = new Stampede\Worker\Setup(...' . var_export($set, true) . ');
            exit(Stampede\Worker\Main::run(
                static fn () => Stampede\Worker\\' . $part . '\Start::worker($setup),
            ));';
        file_put_contents("$directory/worker.php", $text);
        $set = ['-d', 'display_errors=0', '-d', 'log_errors=1'];
        $command = [PHP_BINARY, '-n', ...$set, "$directory/worker.php"];
        $error = ['file', "$directory/stderr", 'w'];
        $this->process = proc_open($command, [['file', '/dev/null', 'r'], $error, $error], $lines);
        $this->pid = proc_get_status($this->process)['pid'];
    }

    public function __destruct()
    {
        if (is_resource($this->process)) {
            proc_terminate($this->process);
            proc_close($this->process);
        }
    }

    /** Opens a connection; waits until the worker listens. */
    public function connect(): mixed
    {
        for ($left = 500; $left > 0; $left--) {
            $connection = @stream_socket_client("tcp://{$this->name}");
            if ($connection !== false) {
                stream_set_timeout($connection, 5);

                return $connection;
            }
            usleep(10_000);
        }
        throw new \RuntimeException($this->log());
    }

    /** Returns status, body, and whether the connection will be closed. */
    public function ask(mixed $connection, string $target = '/'): string
    {
        fwrite($connection, "GET $target HTTP/1.1\r\nHost: h\r\n\r\n");
        $head = '';
        while (!str_ends_with($head, "\r\n\r\n")) {
            $line = fgets($connection);
            if ($line === false) {
                return 'nothing';
            }
            $head .= $line;
        }
        preg_match('~^content-length: (\d+)~mi', $head, $length);
        $body = (int) $length[1] === 0 ? '' : stream_get_contents($connection, (int) $length[1]);
        $closes = stripos($head, 'connection: close') === false ? '' : ' closes';

        return substr($head, 9, 3) . " $body$closes";
    }

    public function signal(int $signal): void
    {
        proc_terminate($this->process, $signal);
    }

    /** Returns the exit code once the worker has ended by itself. */
    public function waitForExit(): int
    {
        $until = microtime(true) + 15;
        while (($status = proc_get_status($this->process))['running'] && microtime(true) < $until) {
            usleep(5_000);
        }
        proc_terminate($this->process, SIGKILL);
        proc_close($this->process);

        return $status['exitcode'];
    }

    public function log(): string
    {
        return (string) file_get_contents("{$this->scratch->directory}/stderr");
    }

    private static function freePort(): string
    {
        $socket = stream_socket_server('tcp://127.0.0.1:0');

        return (string) stream_socket_get_name($socket, false);
    }
}
