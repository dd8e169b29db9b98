<?php

declare(strict_types=1);

// Answers all requests by this library, in a process of its own: only there php.ini's limits can be
// set. Prints a list of names, statuses, headers and bodies. Arguments: seed and number of generated
// requests.

use Stampede\Worker\App\CallableApp;
use Stampede\Worker\Site;
use Stampede\Worker\Tests\Conformance\Generator;
use Stampede\Worker\Tests\Conformance\RawRequest;
use Stampede\Worker\Uploads;

require __DIR__ . '/../../autoload.php';
require __DIR__ . '/RawRequest.php';
require __DIR__ . '/Generator.php';

[, $seed, $count] = $argv;
$requests = array_filter(RawRequest::corpus()[1], static fn (RawRequest $raw): bool => !$raw->ends);
$generator = new Generator((int) $seed);
for ($left = (int) $count; $left > 0; $left--) {
    $requests[] = $generator->request();
}
$_SERVER = [];
$app = new CallableApp(__DIR__ . '/app/handler.php');
$app->reboot();
$site = new Site($app, __DIR__ . '/app/public');
$answers = [];
foreach ($requests as $raw) {
    $request = $raw->request(sys_get_temp_dir());
    $response = $site->collect($site->answer($request));
    $site->cleanUp();
    Uploads::remove($request->files);
    $answers[] = [$raw->name, $response->status, $response->headers, $response->body];
}
file_put_contents('php://stdout', serialize($answers));
