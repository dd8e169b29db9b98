<?php

declare(strict_types=1);

namespace Stampede\Worker\Workerman;

use Stampede\Worker\CallbackWorker;
use Stampede\Worker\Library;
use Stampede\Worker\Pool\FirstBoot;
use Stampede\Worker\Pool\Port;
use Stampede\Worker\Problem;
use Stampede\Worker\Setup;
use Workerman\Connection\TcpConnection;
use Workerman\Worker;

/** Starts Workerman: its own master and its processes, on one port. */
final class Start
{
    /** The most bytes of a request's head, in addition to its body. */
    private const HEAD = 1 << 16;
    /** Seconds that processes have to end before they are killed. */
    private const GRACE = 5;

    public static function worker(Setup $setup): void
    {
        Library::load($setup, 'workerman', 'Workerman\Worker');
        $boot = new FirstBoot($setup->dir);
        // This gives accepted connections TCP_NODELAY even without the extension `sockets`.
        $context = ['socket' => ['tcp_nodelay' => true]];
        $worker = new Worker('http://' . Port::address($setup), $context);
        $worker->name = 'stampede';
        $worker->count = $setup->integer('workers', 1);
        TcpConnection::$defaultMaxPackageSize = CallbackWorker::BODY + self::HEAD;
        self::settings($setup->dir);
        $worker->onWorkerStart = static function (Worker $worker) use ($setup, $boot): void {
            (new Server($setup, $worker))->begin($boot);
        };
        Worker::$onMasterStop = [$boot, 'reportFailure'];
        Worker::runAll();
        throw new Problem('Workerman could not start');
    }

    /**
     * Keeps Workerman's files in the working directory, its messages on standard error, and the
     * process in the foreground.
     */
    private static function settings(string $dir): void
    {
        $GLOBALS['argv'] ??= [];
        Worker::$command = 'start -q';
        Worker::$pidFile = "$dir/tmp/workerman.pid";
        Worker::$statusFile = "$dir/tmp/workerman.status";
        Worker::$logFile = "$dir/tmp/workerman.log";
        Worker::$outputStream = STDERR;
        Worker::$stopTimeout = self::GRACE;
    }
}
