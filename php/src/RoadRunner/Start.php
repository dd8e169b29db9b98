<?php

declare(strict_types=1);

namespace Stampede\Worker\RoadRunner;

use Stampede\Worker\Setup;
use Stampede\Worker\Site;
use Stampede\Worker\Worker;

/** A worker of RoadRunner from beginning to end. */
final class Start
{
    public static function worker(Setup $setup): void
    {
        $site = Site::boot($setup);
        $peer = Spiral::found() ?? new Goridge(Relay::open((string) getenv('RR_RELAY')));
        (new Worker($peer, $site))->runAlone();
    }
}
