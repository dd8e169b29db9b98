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
use Stampede\Worker\CallbackWorker;
use Stampede\Worker\Form;
use Stampede\Worker\Pool\MasterChannel;
use Stampede\Worker\Pool\Port;
use Stampede\Worker\Response as Answer;
use Stampede\Worker\Setup;
use Stampede\Worker\Site;

/** Runs one AMPHP process: it boots the app, listens and answers until it has to end. */
final class Server
{
    /** Seconds that open requests may still take after the process was asked to end. */
    private const SHUTDOWN_SECONDS = 5;

    private Site $site;
    private SocketHttpServer $http;
    private Clients $clients;
    private SharedSocketFactory $sockets;
    private CallbackWorker $worker;
    /** @var array<int, true> clients with a request in flight, keyed by the client's number */
    private array $inFlight = [];
    private bool $ending = false;

    /** @param resource $port */
    public function __construct(private Setup $setup, $port, private MasterChannel $channel)
    {
        // Boot the app first: it may bring another version of PSR-3, and the first one loaded
        // stays.
        $this->site = Site::boot($setup);
        $log = new Log();
        $this->clients = new Clients(new SocketClientFactory($log));
        $this->sockets = new SharedSocketFactory($port, $this->clients);
        // AMPHP does nothing before our handler: no limits, no compression, any method.
        $drivers = new DefaultHttpDriverFactory(
            $log,
            streamTimeout: $setup->integer('keepalive_timeout', 75),
            bodySizeLimit: CallbackWorker::BODY,
            http2Enabled: false,
        );
        $this->http = new SocketHttpServer($log, $this->sockets, $this->clients, [], null, $drivers);
        $this->http->expose(Port::address($setup));
    }

    /** Runs until the process is asked to end or has served its number of requests. */
    public function run(): void
    {
        $this->worker = CallbackWorker::create($this->setup, $this->site, fn () => $this->stopAccepting());
        $handler = fn (Request $ampRequest): Response => $this->answer($ampRequest);
        $this->http->start(new ClosureRequestHandler($handler), new DefaultErrorHandler());
        $this->clients->onEmpty = fn () => $this->handleIdle();
        EventLoop::onSignal(SIGTERM, fn () => $this->shutDown());
        EventLoop::onSignal(SIGINT, fn () => $this->shutDown());
        // The master writes nothing to this channel. It becomes readable when the master is gone.
        EventLoop::onReadable($this->channel->stream, function (string $callback): void {
            EventLoop::cancel($callback);
            $this->shutDown();
        });
        $this->channel->sendReady();
        EventLoop::run();
    }

    private function answer(Request $ampRequest): Response
    {
        $client = $ampRequest->getClient();
        $this->inFlight[$client->getId()] = true;
        try {
            $request = Messages::request($ampRequest);
            $form = new Form($request, "{$this->setup->dir}/tmp");
            $body = $ampRequest->getBody();
            while (($piece = $body->read()) !== null) {
                $form->feed($piece);
            }
            $form->finish();
            $answer = $this->worker->answer($request, $this->clients->getStream($client));
        } finally {
            unset($this->inFlight[$client->getId()]);
        }
        // AMPHP writes the answer before it lets the loop run this.
        EventLoop::queue(fn () => $this->worker->cleanUp());

        if ($answer === null) {
            // It was streamed past AMPHP, which must send nothing any more.
            $client->close();
        }

        return Messages::response($answer ?? new Answer());
    }

    private function stopAccepting(): void
    {
        $this->channel->sendLeaving();
        $this->sockets->accepting?->close();
        EventLoop::delay(CallbackWorker::GRACE, fn () => $this->shutDown());
        $this->ending = true;
    }

    private function shutDown(): void
    {
        $this->sockets->accepting?->close();
        $this->worker->disableKeepAlive();
        $this->ending = true;
        $this->clients->closeExcept($this->inFlight);
        if (count($this->clients) === 0) {
            $this->handleIdle();
        }
        EventLoop::delay(self::SHUTDOWN_SECONDS, static fn () => EventLoop::getDriver()->stop());
    }

    /** Called when no connection is open any more. */
    private function handleIdle(): void
    {
        if ($this->ending) {
            EventLoop::getDriver()->stop();
        } else {
            $this->sockets->accepting?->stopWaiting();
        }
    }
}
