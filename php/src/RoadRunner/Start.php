<?php

declare(strict_types=1);

namespace Stampede\Worker\RoadRunner;

use Stampede\Worker\Apps;
use Stampede\Worker\Site;
use Stampede\Worker\Worker;

/** A worker of RoadRunner from beginning to end. */
final class Start
{
    /**
     * @param array{app: string, kind: string, docroot: string, index: string, adapter: string,
     *     reboot: bool} $set
     * @return int exit code: 1 where it could not begin or go on, after a line on standard error
     */
    public static function worker(array $set): int
    {
        try {
            $front = "{$set['docroot']}/{$set['index']}";
            $app = Apps::boot($set['app'], $set['kind'], $set['adapter'], $front);
            $peer = Spiral::found() ?? new Goridge(Relay::open((string) getenv('RR_RELAY')));
            $site = new Site($app, $set['docroot'], $set['index'], $set['reboot']);
            (new Worker($peer, $site))->runAlone();
        } catch (\Throwable $error) {
            $kind = get_class($error);
            $place = "{$error->getFile()}:{$error->getLine()}";
            fwrite(STDERR, "stampede: the worker ends: $kind: {$error->getMessage()} in $place\n");

            return 1;
        }

        return 0;
    }
}
