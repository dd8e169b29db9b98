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

/** Runs one AMPHP process: it boots the app, listens and answers until it has to end. */
final class Server
{
    /** Seconds that open requests may still take after the process was asked to end. */
    private const PATIENCE = 5;

    private Site $site;
    private SocketHttpServer $http;
    private Clients $clients;
    private Listening $listening;
    private Shift $shift;
    /** @var array<int, true> clients with a request in flight, keyed by the client's number */
    private array $asking = [];
    private bool $ending = false;

    /** @param resource $port */
    public function __construct(private Setup $setup, $port, private Line $line)
    {
        // Boot the app first: it may bring another version of PSR-3, and the first one loaded
        // stays.
        $this->site = Site::boot($setup);
        $log = new Log();
        $this->clients = new Clients(new SocketClientFactory($log));
        $this->listening = new Listening($port, $this->clients);
        // AMPHP does nothing before our handler: no limits, no compression, any method.
        $drivers = new DefaultHttpDriverFactory(
            $log,
            streamTimeout: $setup->number('keepalive_timeout', 75),
            bodySizeLimit: Shift::BODY,
            http2Enabled: false,
        );
        $this->http = new SocketHttpServer($log, $this->listening, $this->clients, [], null, $drivers);
        $this->http->expose(Port::name($setup));
    }

    /** Runs until the process is asked to end or has served its number of requests. */
    public function run(): void
    {
        $this->shift = Shift::of($this->setup, $this->site, fn () => $this->leave());
        $handler = fn (Request $asked): Response => $this->answer($asked);
        $this->http->start(new ClosureRequestHandler($handler), new DefaultErrorHandler());
        $this->clients->onNone = fn () => $this->idle();
        EventLoop::onSignal(SIGTERM, fn () => $this->end());
        EventLoop::onSignal(SIGINT, fn () => $this->end());
        // The master writes nothing to this line. It becomes readable when the master is gone.
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
        // AMPHP writes the answer before it lets the loop run this.
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

    /** Called when no connection is open any more. */
    private function idle(): void
    {
        if ($this->ending) {
            EventLoop::getDriver()->stop();
        } else {
            $this->listening->taking?->hurry();
        }
    }
}
