<?php

declare(strict_types=1);

namespace Stampede\Worker\Amp;

use Stampede\Worker\Library;
use Stampede\Worker\Pool\Master;
use Stampede\Worker\Pool\MasterChannel;
use Stampede\Worker\Pool\Port;
use Stampede\Worker\Setup;

/** Starts AMPHP: processes on one port, each with an event loop of its own. */
final class Start
{
    public static function worker(Setup $setup): void
    {
        Library::load($setup, 'amphp', 'Amp\Http\Server\SocketHttpServer');
        $port = Port::open($setup);
        $work = static function (MasterChannel $channel) use ($setup, $port): void {
            (new Server($setup, $port, $channel))->run();
        };
        (new Master($setup->integer('workers', 1), $work))->run();
    }
}
