<?php

declare(strict_types=1);

namespace Stampede\Worker;

/** A worker's life: ask the runtime for a request, answer it, clean up, and again. */
final class Worker
{
    private bool $answering = false;

    /** @param int $maxRequests after so many it ends; 0: never by itself */
    public function __construct(
        private Peer $peer,
        private Site $site,
        private int $maxRequests = 0,
    ) {
    }

    /** Runs until the runtime or `maxRequests` ends it; says how many requests it answered. */
    public function run(): int
    {
        $served = 0;
        while (($request = $this->peer->next()) !== null) {
            $this->answering = true;
            $response = $this->site->answer($request);
            $this->peer->answer($response);
            $this->answering = false;
            $this->site->after();
            $served++;
            if ($served === $this->maxRequests) {
                break;
            }
        }

        return $served;
    }

    /**
     * For a process of its own: keeps standard output clean, and answers a request whose app
     * ends PHP itself, by `exit` or by an error that nobody can catch, as PHP-FPM would.
     */
    public function runAlone(): int
    {
        $this->site->output->guard();
        register_shutdown_function(function (): void {
            if ($this->answering) {
                $this->peer->answer($this->site->ended());
            }
        });

        return $this->run();
    }
}
