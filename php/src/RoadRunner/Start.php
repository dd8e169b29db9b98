<?php

declare(strict_types=1);

namespace Stampede\Worker\RoadRunner;

use Stampede\Worker\Setup;
use Stampede\Worker\Site;
use Stampede\Worker\Worker;

/** Runs a worker of RoadRunner from beginning to end. */
final class Start
{
    /**
     * Microseconds for RoadRunner to read the last line of a worker; RoadRunner then ends itself.
     */
    private const READ = 200_000;

    public static function worker(Setup $setup): void
    {
        /** @var bool $begun */
        $begun = false;
        register_shutdown_function(static function () use (&$begun): void {
            if (!$begun) {
                usleep(self::READ);
            }
        });
        $site = Site::boot($setup);
        $begun = true;
        $directory = "{$setup->dir}/tmp";
        $peer = Spiral::createIfAvailable($directory)
            ?? new Goridge(Relay::open((string) getenv('RR_RELAY')), $directory);
        (new Worker($peer, $site))->runAsProcess();
    }
}
