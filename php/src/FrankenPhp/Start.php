<?php

declare(strict_types=1);

namespace Stampede\Worker\FrankenPhp;

use Stampede\Worker\Setup;
use Stampede\Worker\Site;

/** A worker script of FrankenPHP from beginning to end; FrankenPHP starts it again. */
final class Start
{
    public static function worker(Setup $setup): void
    {
        // Before FrankenPHP has begun its workers it runs this as any script: a client waits then.
        http_response_code(503);
        // The rest is of a request that no client sent.
        $_SERVER = array_intersect_key($_SERVER, getenv());
        $loop = new Loop(Site::boot($setup), $setup->number('max_requests'));
        $loop->run('frankenphp_handle_request', 'frankenphp_finish_request', 'getallheaders');
    }
}
