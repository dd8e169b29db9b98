<?php

declare(strict_types=1);

namespace Stampede\Worker\Swoole;

use Stampede\Worker\Problem;
use Stampede\Worker\Setup;

/** Turns the plan's choices into the server's options. All values are set that it would guess. */
final class Options
{
    /** The server's own numbers, the same in all versions of both extensions. */
    private const MODES = ['base' => 1, 'process' => 2];
    private const DISPATCH = ['turn' => 1, 'connection' => 2, 'free' => 3];
    private const LOG_WARNINGS = 4;

    /** The most bytes of a request: the limit that nginx and the other runtimes have here. */
    private const BODY_MAX = 50 << 20;
    /** The server keeps the whole answer in memory. A longer answer is cut off. */
    private const ANSWER_MAX = 256 << 20;

    /**
     * With one worker and no limit of requests, base mode has no manager, and the server ends when
     * that worker dies. A limit that is never reached gives it a manager like the others.
     */
    private const NEVER = 0xffff_ffff;

    public static function mode(Setup $setup): int
    {
        return self::MODES[$setup->string('server_mode', 'process')];
    }

    /**
     * @return array<string, mixed>
     * @throws Problem if the plan combines settings that exclude each other
     */
    public static function build(Setup $setup): array
    {
        $limit = $setup->integer('max_requests');
        if ($limit > 0 && self::mode($setup) === self::MODES['base']) {
            throw new Problem('`max_requests` needs `server_mode: process`: in base mode a worker '
                . 'that ends takes its connections with it, and requests are lost');
        }

        return [
            'worker_num' => $setup->integer('workers', 1),
            // Threads that read and write connections. The default is one for each CPU of the
            // machine.
            'reactor_num' => max(1, min($setup->cpus, $setup->integer('workers', 1))),
            'max_request' => $limit ?: self::NEVER,
            // By default Swoole adds up to half as many again.
            'max_request_grace' => 0,
            'dispatch_mode' => self::DISPATCH[$setup->string('dispatch', 'free')],
            // Off unless asked for: a synchronous app that uses superglobals handles one request at
            // a time.
            'enable_coroutine' => $setup->isOn('coroutines'),
            'hook_flags' => $setup->isOn('coroutines') ? self::hooks() : 0,
            'daemonize' => false,
            'pid_file' => "{$setup->dir}/tmp/swoole.pid",
            'upload_tmp_dir' => "{$setup->dir}/tmp",
            'log_level' => self::LOG_WARNINGS,
            'reload_async' => true,
            'max_wait_time' => 3,
            'backlog' => 4096,
            'enable_reuse_port' => false,
            'open_tcp_nodelay' => true,
            'package_max_length' => self::BODY_MAX,
            'socket_buffer_size' => self::ANSWER_MAX,
            'output_buffer_size' => self::ANSWER_MAX,
            // The library parses these by PHP's own rules.
            'http_parse_cookie' => false,
            'http_parse_post' => false,
            // Off too: Open Swoole 25.2.0 would crash while it turns files into PHP's own form.
            'http_parse_files' => false,
            'http_compression' => $setup->isOn('compression'),
            'enable_static_handler' => false,
        ];
    }

    /**
     * With coroutines, waiting for others (sockets, databases, sleep) lets other requests run.
     * Files and standard streams do not: otherwise each `include` would.
     */
    private static function hooks(): int
    {
        return \SWOOLE_HOOK_ALL & ~(\SWOOLE_HOOK_FILE | \SWOOLE_HOOK_STDIO);
    }
}
