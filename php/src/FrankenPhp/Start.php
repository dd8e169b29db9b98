<?php

declare(strict_types=1);

namespace Stampede\Worker\FrankenPhp;

use Stampede\Worker\Setup;
use Stampede\Worker\Site;

/** Runs a worker script of FrankenPHP from beginning to end. FrankenPHP starts it again. */
final class Start
{
    public static function worker(Setup $setup): void
    {
        // Before its workers have begun, FrankenPHP may run this script for a client, which then
        // gets a 503.
        http_response_code(503);
        // All other entries belong to a request that no client sent.
        $_SERVER = array_intersect_key($_SERVER, getenv());
        $loop = new Loop(Site::boot($setup), $setup->integer('max_requests'));
        $loop->run('frankenphp_handle_request', 'frankenphp_finish_request', 'getallheaders');
    }
}
