<?php

declare(strict_types=1);

namespace Stampede\Worker\Octane;

use Stampede\Worker\AppRequirements;
use Stampede\Worker\Problem;
use Stampede\Worker\Setup;

/**
 * Writes the file that Octane's Swoole server reads first. Usually `octane:swoole` writes it.
 *
 * @phpstan-type AppConfig array{
 *     appName: string, publicPath: string, storagePath: string, octaneConfig: array<string, mixed>,
 * }
 */
final class ServerStateFile
{
    /** Swoole's own numbers. */
    private const DISPATCH = ['turn' => 1, 'connection' => 2, 'free' => 3];
    private const LOG_WARNINGS = 4;
    /** The most bytes of a request: the limit that nginx and the other runtimes have here. */
    private const BODY_MAX = 50 << 20;
    /** The server keeps the whole answer in memory. A longer answer is cut off. */
    private const ANSWER_MAX = 256 << 20;

    private const CONFIG_SCRIPT = 'require $argv[1];
        exit(Stampede\Worker\Main::run(
            static fn () => Stampede\Worker\Octane\ServerStateFile::writeAppConfig($argv[2], $argv[3]),
        ));';

    /** @throws Problem if the app does not boot */
    public static function write(Setup $setup, string $file): void
    {
        $appConfig = self::readAppConfig($setup->app, $file);
        $octane = $appConfig['octaneConfig'];
        $octane['max_execution_time'] = $setup->integer('max_execution_time');
        // Without task workers, there is nothing to send a tick to.
        $octane['tick'] = $setup->integer('task_workers') > 0 && ($octane['tick'] ?? true);
        $state = [
            'host' => $setup->host,
            'port' => $setup->port,
            'workers' => $setup->integer('workers', 1),
            'taskWorkers' => $setup->integer('task_workers'),
            'maxRequests' => $setup->integer('max_requests'),
            'defaultServerOptions' => self::serverOptions($setup),
            'octaneConfig' => $octane,
        ];
        $text = json_encode(['state' => $state + $appConfig], JSON_THROW_ON_ERROR);
        file_put_contents($file, $text);
    }

    /** Writes the app's own configuration to a file. Runs in a process of its own. */
    public static function writeAppConfig(string $app, string $file): void
    {
        chdir($app);
        require "$app/vendor/autoload.php";
        /** @var \Illuminate\Foundation\Application $laravel */
        $laravel = AppRequirements::loadFile("$app/bootstrap/app.php", 'an app of kind `laravel`');
        $laravel->make('Illuminate\Contracts\Console\Kernel')->bootstrap();
        $config = $laravel->make('config');
        if ($config->get('octane') === null) {
            throw new Problem('the app has not discovered Octane: php artisan package:discover');
        }
        file_put_contents($file, json_encode([
            'appName' => $config->get('app.name', 'Laravel'),
            'publicPath' => $laravel->publicPath(),
            'storagePath' => $laravel->storagePath(),
            'octaneConfig' => $config->get('octane'),
        ], JSON_THROW_ON_ERROR));
    }

    /**
     * Asks the app in a process of its own, as Octane does: the server that forks the workers must
     * not have booted the app.
     *
     * @return AppConfig
     */
    private static function readAppConfig(string $app, string $file): array
    {
        $ini = php_ini_loaded_file();
        $options = $ini === false ? ['-n'] : ['-c', $ini];
        $library = dirname(__DIR__, 2) . '/autoload.php';
        $command = [PHP_BINARY, ...$options, '-r', self::CONFIG_SCRIPT, '--', $library, $app, $file];
        $process = proc_open($command, [STDIN, STDERR, STDERR], $pipes);
        if ($process === false || proc_close($process) !== 0) {
            throw new Problem('the app does not boot, or ends while it boots');
        }
        /** @var AppConfig $config */
        $config = json_decode((string) file_get_contents($file), true, 512, JSON_THROW_ON_ERROR);

        return $config;
    }

    /**
     * Returns the options of `octane:swoole`; the rest are the same for all runtimes here.
     *
     * @return array<string, mixed>
     */
    private static function serverOptions(Setup $setup): array
    {
        return [
            'enable_coroutine' => false,
            'daemonize' => false,
            'send_yield' => true,
            'worker_num' => $setup->integer('workers', 1),
            'reactor_num' => $setup->integer('workers', 1),
            'task_worker_num' => $setup->integer('task_workers'),
            'max_request' => $setup->integer('max_requests'),
            'task_max_request' => $setup->integer('max_requests'),
            // By default Swoole adds up to half as many again.
            'max_request_grace' => 0,
            'dispatch_mode' => self::DISPATCH[$setup->string('dispatch', 'connection')],
            'max_wait_time' => 3,
            'backlog' => 4096,
            'log_level' => self::LOG_WARNINGS,
            'upload_tmp_dir' => "{$setup->dir}/tmp",
            'package_max_length' => self::BODY_MAX,
            'socket_buffer_size' => self::ANSWER_MAX,
            'http_compression' => $setup->isOn('compression'),
        ];
    }
}
