<?php

declare(strict_types=1);

namespace Stampede\Worker\ReactPhp;

use Psr\Http\Message\ServerRequestInterface;
use React\EventLoop\Loop;
use React\Http\HttpServer;
use React\Http\Message\Response;
use React\Http\Middleware\StreamingRequestMiddleware;
use React\Promise\Promise;
use React\Stream\ReadableStreamInterface;
use Stampede\Worker\CallbackWorker;
use Stampede\Worker\Form;
use Stampede\Worker\Pool\MasterChannel;
use Stampede\Worker\Request;
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
        // With streaming, the body comes as the client sends it, and is read by PHP's own rules.
        $this->http = new HttpServer(
            new StreamingRequestMiddleware(),
            fn (ServerRequestInterface $psrRequest): Response|Promise => $this->receive($psrRequest),
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

    /** Reads the body and then answers. */
    private function receive(ServerRequestInterface $psrRequest): Response|Promise
    {
        /** @var array{REMOTE_ADDR?: string, REMOTE_PORT?: int|string} $server */
        $server = $psrRequest->getServerParams();
        $client = ($server['REMOTE_ADDR'] ?? '') . ':' . ($server['REMOTE_PORT'] ?? '');
        $request = Messages::request($psrRequest);
        $form = new Form($request, "{$this->setup->dir}/tmp");
        $body = $psrRequest->getBody();
        if (!$body instanceof ReadableStreamInterface || $body->getSize() === 0) {
            $form->finish();

            return $this->answer($request, $client);
        }

        return new Promise(function (callable $resolve) use ($request, $form, $body, $client): void {
            $body->on('data', static function (string $piece) use ($form, $body, $resolve): void {
                $form->feed($piece);
                if ($form->bytes() > CallbackWorker::BODY) {
                    $form->discard();
                    $resolve(new Response(413, ['Connection' => ['close']]));
                    $body->close();
                }
            });
            $body->on('end', function () use ($request, $form, $client, $resolve): void {
                $form->finish();
                $resolve($this->answer($request, $client));
            });
            $body->on('close', static fn () => $form->discard());
        });
    }

    private function answer(Request $request, string $client): Response|Promise
    {
        $connection = $this->listener->open[$client]->stream ?? null;
        $response = $this->worker->answer($request, $connection);
        $this->listener->markAnswered($client);
        // The next turn of the loop writes the answer; the clean-up comes in the turn after it.
        Loop::futureTick(fn () => Loop::futureTick(fn () => $this->worker->cleanUp()));
        if ($response !== null) {
            return Messages::response($response);
        }
        // The answer was streamed past ReactPHP, which must send nothing any more.
        Loop::futureTick(fn () => ($this->listener->open[$client] ?? null)?->close());
        $nothing = static function (): void {
        };

        return new Promise($nothing, $nothing);
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
