<?php

declare(strict_types=1);

namespace Stampede\Worker\Tests;

/** Runs a recorded worker in a process of its own; holds its answers and the lines about it. */
final class RecordedWorker
{
    public ScratchDirectory $scratch;
    /** @var list<string> bodies of its answers */
    public array $bodies = [];
    /** @var list<array<string, mixed>> */
    public array $lines = [];
    /** The rest of the process's output. */
    public string $output;

    /**
     * @param string $handler body of the app's handler, or its whole file
     * @param list<string> $targets requests to send, one after the other
     * @param array<string, string> $files files beside the app's; `check/none` turns the recorder on
     * @param string $before code that runs before the worker boots
     * @param list<string> $options command-line options of PHP
     */
    public function __construct(
        string $handler,
        array $targets,
        array $files = ['check/none' => ''],
        string $before = '',
        array $options = [],
    ) {
        $code = str_starts_with($handler, '<?php')
            ? $handler
            : "<?php return static function (array \$server): array { $handler };";
        $this->scratch = new ScratchDirectory(['handler.php' => $code, 'bodies' => ''] + $files);
        $directory = $this->scratch->directory;
        file_put_contents("$directory/run.php", self::script($directory, $targets, $before));
        $pipes = [1 => ['file', "$directory/said", 'w'], 2 => ['file', "$directory/said", 'a']];
        $options = ['-n', '-d', 'display_errors=1', '-d', 'date.timezone=UTC', ...$options];
        $none = [];
        proc_close(proc_open([PHP_BINARY, ...$options, "$directory/run.php"], $pipes, $none));
        $this->output = (string) file_get_contents("$directory/said");
        $this->bodies = self::parse("$directory/bodies");
        foreach (glob("$directory/check/*.ndjson") ?: [] as $file) {
            array_push($this->lines, ...self::parse($file));
        }
    }

    /** @return list<array<string, mixed>> the lines of one kind */
    public function linesOf(string $at): array
    {
        $is = static fn (array $line): bool => $line['at'] === $at;

        return array_values(array_filter($this->lines, $is));
    }

    /** Returns the value of a key after the last finished request. */
    public function stateAfter(string $key): mixed
    {
        $ends = $this->linesOf('end');

        return end($ends)['state'][$key] ?? null;
    }

    /** Returns the value of a key before the last request. */
    public function stateBefore(string $key): mixed
    {
        $begins = $this->linesOf('begin');

        return end($begins)['state'][$key] ?? null;
    }

    /** @param list<string> $targets */
    private static function script(string $directory, array $targets, string $before): string
    {
        $set = [
            'app' => $directory, 'kind' => 'callable', 'docroot' => "$directory/public", 'dir' => $directory,
        ];
        [$library, $set, $asks, $bodies] = array_map(
            static fn (mixed $value): string => var_export($value, true),
            [dirname(__DIR__) . '/autoload.php', $set, $targets, "$directory/bodies"],
        );

        return "<?php declare(strict_types=1); require $library; $before
            (static function (): void {
                \$site = Stampede\\Worker\\Site::boot(new Stampede\\Worker\\Setup(...$set));
                \$site->output->guard();
                foreach ($asks as \$n => \$target) {
                    \$headers = ['Host' => ['h'], 'X-Stampede-Check' => [(string) \$n]];
                    \$request = new Stampede\\Worker\\Request('GET', \$target, \$headers);
                    \$body = \$site->answer(\$request)->body;
                    file_put_contents($bodies, json_encode(\$body) . \"\\n\", FILE_APPEND);
                    \$site->cleanUp();
                }
            })();";
    }

    /** @return list<mixed> */
    private static function parse(string $file): array
    {
        $decoded = static fn (string $line): mixed => json_decode($line, true, 512, JSON_THROW_ON_ERROR);

        return array_map($decoded, file($file, FILE_IGNORE_NEW_LINES) ?: []);
    }
}
