<?php

declare(strict_types=1);

namespace Stampede\Worker\Swoole;

use Stampede\Worker\Problem;
use Stampede\Worker\Setup;

/**
 * Runs the HTTP server of Swoole or Open Swoole from beginning to end. Both have the same classes.
 */
final class Start
{
    private const TCP = 1;

    /** @throws Problem if the extension is missing or the app does not boot */
    public static function worker(Setup $setup): void
    {
        $space = self::findNamespace();
        $class = "$space\\Http\\Server";
        /** @var \Swoole\Http\Server $server */
        $server = new $class($setup->host, $setup->port, Options::mode($setup), self::TCP);
        $server->set(Options::build($setup));
        $number = "$space\\Atomic";
        /** @var \Swoole\Atomic $flag */
        $flag = new $number(0);
        $failure = new Failure("{$setup->dir}/tmp/swoole.failed", $flag);
        $watchdog = new Watchdog($server, $space, $failure, $setup->integer('workers', 1));
        $handler = new Handler($setup, $failure, $watchdog, ["$space\\ExitException"]);
        $server->on('ManagerStart', [$watchdog, 'start']);
        $server->on('WorkerStart', [$handler, 'begin']);
        $server->on('WorkerStop', [$handler, 'end']);
        $server->on('Request', [$handler, 'answer']);
        $server->start();
        // This is the first process again, after everything has ended.
        $failure->throwIfStored();
    }

    /** Returns the namespace of the loaded extension. Open Swoole defines both names. */
    private static function findNamespace(): string
    {
        foreach (['OpenSwoole', 'Swoole'] as $space) {
            if (class_exists("$space\\Http\\Server", false)) {
                return $space;
            }
        }
        throw new Problem('the extension `swoole` or `openswoole` is not loaded by this PHP');
    }
}
