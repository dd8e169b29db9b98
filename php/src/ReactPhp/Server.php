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
use Stampede\Worker\Pool\Line;
use Stampede\Worker\Setup;
use Stampede\Worker\Shift;
use Stampede\Worker\Site;

/** Runs one ReactPHP process: it listens, boots the app and answers until it has to end. */
final class Server
{
    /** Seconds that open requests may still take after the process was asked to end. */
    private const PATIENCE = 5;

    private Listener $listener;
    private HttpServer $http;
    private Shift $shift;
    private bool $ending = false;

    /** @param resource $port */
    public function __construct(private Setup $setup, $port, private Line $line)
    {
        $this->listener = new Listener($port);
        // With streaming, the other two handlers may take more than ReactPHP's 64 KiB.
        $this->http = new HttpServer(
            new StreamingRequestMiddleware(),
            new RequestBodyBufferMiddleware(Shift::BODY),
            new RequestBodyParserMiddleware(),
            fn (ServerRequestInterface $asked): Response => $this->answer($asked),
        );
        // An app may bring another version of PSR-7, and the first one loaded stays.
        class_exists(Response::class);
    }

    /** Runs until the process is asked to end or has served its number of requests. */
    public function run(): void
    {
        $site = Site::boot($this->setup);
        $this->shift = Shift::of($this->setup, $site, fn () => $this->leave());
        $this->http->on('error', static function (\Throwable $error): void {
            fwrite(STDERR, 'stampede: ReactPHP: ' . strtok($error->getMessage(), "\n") . "\n");
        });
        $this->http->listen($this->listener);
        $this->listener->on('closed', fn () => $this->endIfIdle());
        $this->listener->resume();
        Loop::addSignal(SIGTERM, fn () => $this->end());
        Loop::addSignal(SIGINT, fn () => $this->end());
        // The master writes nothing to this line. It becomes readable when the master is gone.
        Loop::addReadStream($this->line->stream, fn () => $this->end());
        $this->line->ready();
        Loop::run();
    }

    private function answer(ServerRequestInterface $asked): Response
    {
        $server = $asked->getServerParams();
        $client = ($server['REMOTE_ADDR'] ?? '') . ':' . ($server['REMOTE_PORT'] ?? '');
        $connection = $this->listener->open[$client]->stream ?? null;
        $request = Messages::request($asked, "{$this->setup->dir}/tmp");
        $response = Messages::response($this->shift->answer($request, $connection));
        $this->listener->answered($client);
        // The next turn of the loop writes the answer; the clean-up comes in the turn after it.
        Loop::futureTick(fn () => Loop::futureTick(fn () => $this->shift->after()));

        return $response;
    }

    private function leave(): void
    {
        $this->line->leaving();
        $this->listener->close();
        Loop::addTimer(Shift::GRACE, fn () => $this->end());
        $this->ending = true;
    }

    private function end(): void
    {
        Loop::removeReadStream($this->line->stream);
        $this->listener->close();
        $this->shift->over();
        $this->listener->dismiss();
        $this->ending = true;
        $this->endIfIdle();
        Loop::addTimer(self::PATIENCE, static fn () => Loop::stop());
    }

    private function endIfIdle(): void
    {
        if ($this->ending && $this->listener->open === []) {
            $this->shift->after();
            Loop::stop();
        }
    }
}
