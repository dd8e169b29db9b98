<?php

declare(strict_types=1);

namespace Stampede\Worker;

/** What the plan chose for a worker script; `worker.php` says it. */
final class Setup
{
    /**
     * @param string $app directory of the app
     * @param string $kind of the app, as in `app.yaml`
     * @param string $index front controller, from the docroot
     * @param string $dir working directory
     * @param string $host address to listen at, where PHP itself listens
     * @param array<string, string> $needs what the runtime needs → where it was found
     * @param array<string, mixed> $settings in force, by the names of plans
     * @param int $cpus that the stack was given
     */
    public function __construct(
        public string $app,
        public string $kind,
        public string $docroot,
        public string $index = 'index.php',
        public string $dir = '',
        public string $host = '127.0.0.1',
        public int $port = 0,
        public array $needs = [],
        public array $settings = [],
        public int $cpus = 1,
    ) {
    }

    /** A whole number of the plan. */
    public function number(string $setting, int $default = 0): int
    {
        return (int) ($this->settings[$setting] ?? $default);
    }

    /** A word of the plan. */
    public function word(string $setting, string $default = ''): string
    {
        return (string) ($this->settings[$setting] ?? $default);
    }

    /** A switch of the plan. */
    public function isOn(string $setting): bool
    {
        return (bool) ($this->settings[$setting] ?? false);
    }
}
