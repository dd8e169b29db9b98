<?php

declare(strict_types=1);

namespace Stampede\Worker\Swoole;

use Stampede\Worker\Problem;
use Stampede\Worker\Setup;

/** What the plan chose, as the server's options. Nothing is left to it that it would guess. */
final class Options
{
    /** Numbers of the server's own, the same in all versions of both extensions. */
    private const MODES = ['base' => 1, 'process' => 2];
    private const DISPATCH = ['turn' => 1, 'connection' => 2, 'free' => 3];
    private const LOG_WARNINGS = 4;

    /** As nginx and the others here take it. */
    private const BODY_MAX = 50 << 20;
    /** An answer waits whole in the server's memory; what does not fit is cut off. */
    private const ANSWER_MAX = 256 << 20;

    /**
     * With one worker and no limit of requests, base mode has no manager: a worker that dies is
     * then the end. A limit that is never reached makes it like the others.
     */
    private const NEVER = 0xffff_ffff;

    public static function mode(Setup $setup): int
    {
        return self::MODES[$setup->word('server_mode', 'process')];
    }

    /**
     * @return array<string, mixed>
     * @throws Problem the plan wants what cannot be had together
     */
    public static function of(Setup $setup): array
    {
        $limit = $setup->number('max_requests');
        if ($limit > 0 && self::mode($setup) === self::MODES['base']) {
            throw new Problem('`max_requests` needs `server_mode: process`: in base mode a worker '
                . 'that ends takes its connections with it, and requests are lost');
        }

        return [
            'worker_num' => $setup->number('workers', 1),
            // Threads that read and write connections; else as many as the machine has CPUs.
            'reactor_num' => max(1, min($setup->cpus, $setup->number('workers', 1))),
            'max_request' => $limit ?: self::NEVER,
            // Else up to half as many again.
            'max_request_grace' => 0,
            'dispatch_mode' => self::DISPATCH[$setup->word('dispatch', 'free')],
            // Unless it is asked for: an app that is synchronous and has superglobals has one
            // request at a time.
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
            'http_parse_cookie' => true,
            'http_parse_post' => true,
            // Off: a file of `field[]` comes as a leaf of a tree, not as PHP turns it. Open Swoole
            // 25.2.0 would die of turning it.
            'http_parse_files' => false,
            'http_compression' => $setup->isOn('compression'),
            'enable_static_handler' => false,
        ];
    }

    /**
     * Whatever waits for somebody else (sockets, databases, sleep) gives way to other requests; files
     * and standard streams do not, or each `include` would.
     */
    private static function hooks(): int
    {
        return \SWOOLE_HOOK_ALL & ~(\SWOOLE_HOOK_FILE | \SWOOLE_HOOK_STDIO);
    }
}
