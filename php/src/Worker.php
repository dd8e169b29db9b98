<?php

declare(strict_types=1);

namespace Stampede\Worker;

/** The main loop of a worker: it takes a request from the runtime, answers it and cleans up. */
final class Worker
{
    private bool $answering = false;
    /** The answer whose body is being streamed; null: none is. */
    private ?Response $streamed = null;

    /** @param int $maxRequests the worker ends after so many; 0: no limit */
    public function __construct(
        private Peer $peer,
        private Site $site,
        private int $maxRequests = 0,
    ) {
    }

    /** Runs until the runtime or `maxRequests` ends it; returns how many requests it answered. */
    public function run(): int
    {
        $served = 0;
        while (($request = $this->peer->next()) !== null) {
            $this->answering = true;
            $response = $this->site->answer($request);
            $this->send($response);
            $this->answering = false;
            $this->site->cleanUp();
            $served++;
            if ($served === $this->maxRequests) {
                break;
            }
        }

        return $served;
    }

    /**
     * Runs as a process of its own. It keeps standard output clean. It also answers, as PHP-FPM
     * would, when the app ends PHP by `exit` or by an error that nobody can catch.
     */
    public function runAsProcess(): int
    {
        $this->site->output->guard();
        register_shutdown_function(function (): void {
            if ($this->streamed !== null) {
                $this->site->output->takePrinted();
                $this->peer->endPieces($this->streamed);
            } elseif ($this->answering) {
                $this->peer->answer($this->site->answerAfterExit());
            } else {
                return;
            }
            // After what the app itself does at the end.
            register_shutdown_function($this->leave(...));
        });

        return $this->run();
    }

    /** The session is given back first: another worker may wait for it. */
    private function leave(): void
    {
        if (function_exists('session_write_close')) {
            session_write_close();
        }
        $this->peer->leave();
    }

    private function send(Response $response): void
    {
        if ($response->stream === null) {
            $this->peer->answer($response);

            return;
        }
        $this->streamed = $response;
        $this->site->stream($response, fn (string $piece) => $this->peer->sendPiece($response, $piece));
        $this->peer->endPieces($response);
        $this->streamed = null;
    }
}
