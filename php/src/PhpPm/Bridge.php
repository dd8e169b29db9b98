<?php

declare(strict_types=1);

namespace Stampede\Worker\PhpPm;

use PHPPM\Bridges\BridgeInterface;
use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestInterface;
use React\EventLoop\Loop;
use Stampede\Worker\CallbackWorker;
use Stampede\Worker\Form;
use Stampede\Worker\Pool\FirstBoot;
use Stampede\Worker\ReactPhp\Messages;
use Stampede\Worker\Response;
use Stampede\Worker\Site;

/** Answers requests in a worker of PHP-PM, which is a ReactPHP server in php-cgi. */
final class Bridge implements BridgeInterface
{
    private CallbackWorker $worker;

    public function bootstrap($appBootstrap, $appenv, $debug): void
    {
        // php-cgi does not define this constant.
        if (!defined('STDERR')) {
            define('STDERR', fopen('php://stderr', 'w'));
        }
        // PHP-PM turns warnings into exceptions. No other runtime does so.
        set_error_handler(null);
        $boot = new FirstBoot(Start::$setup->dir);
        $site = $boot->run(static fn (): Site => Site::boot(Start::$setup), SIGTERM);
        $this->worker = CallbackWorker::create(Start::$setup, $site, static function (): void {
        });
    }

    public function handle(ServerRequestInterface $request): ResponseInterface
    {
        $converted = Messages::request($request);
        $client = $request->getAttribute('remote_address');
        $converted->remoteAddr = is_string($client) ? $client : '127.0.0.1';
        Form::parse($converted, Start::$setup->dir . '/tmp', (string) $request->getBody());
        // Without the client's connection, which the master has, there is always an answer.
        $answer = Messages::response($this->worker->answer($converted) ?? new Response(500));
        // The next turn of the loop writes the answer; the clean-up comes in the turn after it.
        Loop::futureTick(fn () => Loop::futureTick(fn () => $this->worker->cleanUp()));

        return $answer;
    }
}
