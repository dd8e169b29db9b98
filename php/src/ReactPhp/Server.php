<?php

declare(strict_types=1);

namespace Stampede\Worker\ReactPhp;

use Psr\Http\Message\ServerRequestInterface;
use React\EventLoop\Loop;
use React\Http\HttpServer;
use React\Http\Message\Response;
use React\Http\Middleware\RequestBodyBufferMiddleware;
use React\Http\Middleware\RequestBodyParserMiddleware;
use React\Http\Middleware\StreamingRequestMiddleware;
use Stampede\Worker\CallbackWorker;
use Stampede\Worker\Pool\MasterChannel;
use Stampede\Worker\Setup;
use Stampede\Worker\Site;

/** Runs one ReactPHP process: it listens, boots the app and answers until it has to end. */
final class Server
{
    /** Seconds that open requests may still take after the process was asked to end. */
    private const SHUTDOWN_SECONDS = 5;

    private Listener $listener;
    private HttpServer $http;
    private CallbackWorker $worker;
    private bool $ending = false;

    /** @param resource $port */
    public function __construct(private Setup $setup, $port, private MasterChannel $channel)
    {
        $this->listener = new Listener($port);
        // With streaming, the other two handlers may take more than ReactPHP's 64 KiB.
        $this->http = new HttpServer(
            new StreamingRequestMiddleware(),
            new RequestBodyBufferMiddleware(CallbackWorker::BODY),
            new RequestBodyParserMiddleware(),
            fn (ServerRequestInterface $psrRequest): Response => $this->answer($psrRequest),
        );
        // An app may bring another version of PSR-7, and the first one loaded stays.
        class_exists(Response::class);
    }

    /** Runs until the process is asked to end or has served its number of requests. */
    public function run(): void
    {
        $site = Site::boot($this->setup);
        $this->worker = CallbackWorker::create($this->setup, $site, fn () => $this->stopAccepting());
        $this->http->on('error', static function (\Throwable $error): void {
            fwrite(STDERR, 'stampede: ReactPHP: ' . strtok($error->getMessage(), "\n") . "\n");
        });
        $this->http->listen($this->listener);
        $this->listener->on('closed', fn () => $this->endIfIdle());
        $this->listener->resume();
        Loop::addSignal(SIGTERM, fn () => $this->shutDown());
        Loop::addSignal(SIGINT, fn () => $this->shutDown());
        // The master writes nothing to this channel. It becomes readable when the master is gone.
        Loop::addReadStream($this->channel->stream, fn () => $this->shutDown());
        $this->channel->sendReady();
        Loop::run();
    }

    private function answer(ServerRequestInterface $psrRequest): Response
    {
        $server = $psrRequest->getServerParams();
        $client = ($server['REMOTE_ADDR'] ?? '') . ':' . ($server['REMOTE_PORT'] ?? '');
        $connection = $this->listener->open[$client]->stream ?? null;
        $request = Messages::request($psrRequest, "{$this->setup->dir}/tmp");
        $response = Messages::response($this->worker->answer($request, $connection));
        $this->listener->markAnswered($client);
        // The next turn of the loop writes the answer; the clean-up comes in the turn after it.
        Loop::futureTick(fn () => Loop::futureTick(fn () => $this->worker->cleanUp()));

        return $response;
    }

    private function stopAccepting(): void
    {
        $this->channel->sendLeaving();
        $this->listener->close();
        Loop::addTimer(CallbackWorker::GRACE, fn () => $this->shutDown());
        $this->ending = true;
    }

    private function shutDown(): void
    {
        Loop::removeReadStream($this->channel->stream);
        $this->listener->close();
        $this->worker->disableKeepAlive();
        $this->listener->closeIdle();
        $this->ending = true;
        $this->endIfIdle();
        Loop::addTimer(self::SHUTDOWN_SECONDS, static fn () => Loop::stop());
    }

    private function endIfIdle(): void
    {
        if ($this->ending && $this->listener->open === []) {
            $this->worker->cleanUp();
            Loop::stop();
        }
    }
}
