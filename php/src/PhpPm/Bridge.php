<?php

declare(strict_types=1);

namespace Stampede\Worker\PhpPm;

use PHPPM\Bridges\BridgeInterface;
use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestInterface;
use React\EventLoop\Loop;
use Stampede\Worker\Pool\FirstBoot;
use Stampede\Worker\ReactPhp\Messages;
use Stampede\Worker\Shift;
use Stampede\Worker\Site;

/** What a worker of PHP-PM, which is a ReactPHP server in php-cgi, asks for each answer. */
final class Bridge implements BridgeInterface
{
    private Shift $shift;

    public function bootstrap($appBootstrap, $appenv, $debug): void
    {
        // php-cgi has no such constant.
        defined('STDERR') || define('STDERR', fopen('php://stderr', 'w'));
        // PHP-PM makes exceptions of warnings, as no other runtime does.
        set_error_handler(null);
        $boot = new FirstBoot(Start::$setup->dir);
        $site = $boot->of(static fn (): Site => Site::boot(Start::$setup), SIGTERM);
        $this->shift = Shift::of(Start::$setup, $site, static function (): void {
        });
    }

    public function handle(ServerRequestInterface $request): ResponseInterface
    {
        $asked = Messages::request($request, Start::$setup->dir . '/tmp');
        $asked->remoteAddr = (string) $request->getAttribute('remote_address', '127.0.0.1');
        $answer = Messages::response($this->shift->answer($asked));
        // The first turn of the loop writes it.
        Loop::futureTick(fn () => Loop::futureTick(fn () => $this->shift->after()));

        return $answer;
    }
}
