<?php

declare(strict_types=1);

namespace Stampede\Worker\Amp;

use Amp\Http\Server\DefaultErrorHandler;
use Amp\Http\Server\Driver\DefaultHttpDriverFactory;
use Amp\Http\Server\Driver\SocketClientFactory;
use Amp\Http\Server\Request;
use Amp\Http\Server\RequestHandler\ClosureRequestHandler;
use Amp\Http\Server\Response;
use Amp\Http\Server\SocketHttpServer;
use Revolt\EventLoop;
use Stampede\Worker\Pool\Line;
use Stampede\Worker\Pool\Port;
use Stampede\Worker\Setup;
use Stampede\Worker\Shift;
use Stampede\Worker\Site;

/** One process of AMPHP. */
final class Server
{
    /** Seconds that requests have which are still coming when it is asked to end. */
    private const PATIENCE = 5;

    private Site $site;
    private SocketHttpServer $http;
    private Clients $clients;
    private Listening $listening;
    private Shift $shift;
    /** @var array<int, true> clients that have a request under way */
    private array $asking = [];
    private bool $ending = false;

    /** @param resource $port */
    public function __construct(private Setup $setup, $port, private Line $line)
    {
        // The app first: it may bring another version of PSR-3, and what is loaded first stays.
        $this->site = Site::boot($setup);
        $log = new Log();
        $this->clients = new Clients(new SocketClientFactory($log));
        $this->listening = new Listening($port, $this->clients);
        // Nothing before the handler: no limits, no compression, any method.
        $drivers = new DefaultHttpDriverFactory(
            $log,
            streamTimeout: $setup->number('keepalive_timeout', 75),
            bodySizeLimit: Shift::BODY,
            http2Enabled: false,
        );
        $this->http = new SocketHttpServer($log, $this->listening, $this->clients, [], null, $drivers);
        $this->http->expose(Port::name($setup));
    }

    /** Until it is asked to end, or its requests are over. */
    public function run(): void
    {
        $this->shift = Shift::of($this->setup, $this->site, fn () => $this->leave());
        $handler = fn (Request $asked): Response => $this->answer($asked);
        $this->http->start(new ClosureRequestHandler($handler), new DefaultErrorHandler());
        $this->clients->onNone = fn () => $this->idle();
        EventLoop::onSignal(SIGTERM, fn () => $this->end());
        EventLoop::onSignal(SIGINT, fn () => $this->end());
        // The master says nothing: it is readable when the master is gone.
        EventLoop::onReadable($this->line->stream, function (string $callback): void {
            EventLoop::cancel($callback);
            $this->end();
        });
        $this->line->ready();
        EventLoop::run();
    }

    private function answer(Request $asked): Response
    {
        $client = $asked->getClient();
        $this->asking[$client->getId()] = true;
        try {
            $body = $asked->getBody()->buffer();
            $request = Messages::request($asked, $body, "{$this->setup->dir}/tmp");
            $answer = $this->shift->answer($request, $this->clients->stream($client));
        } finally {
            unset($this->asking[$client->getId()]);
        }
        // AMPHP writes the answer before it gives the loop its turn.
        EventLoop::queue(fn () => $this->shift->after());

        return Messages::response($answer);
    }

    private function leave(): void
    {
        $this->line->leaving();
        $this->listening->taking?->close();
        EventLoop::delay(Shift::GRACE, fn () => $this->end());
        $this->ending = true;
    }

    private function end(): void
    {
        $this->listening->taking?->close();
        $this->shift->over();
        $this->ending = true;
        $this->clients->dismiss($this->asking);
        count($this->clients) === 0 && $this->idle();
        EventLoop::delay(self::PATIENCE, static fn () => EventLoop::getDriver()->stop());
    }

    /** Nobody is connected. */
    private function idle(): void
    {
        if ($this->ending) {
            EventLoop::getDriver()->stop();
        } else {
            $this->listening->taking?->hurry();
        }
    }
}
