<?php

declare(strict_types=1);

namespace Stampede\Worker;

/** What the plan chose for a worker script. The file `worker.php` creates it. */
final class Setup
{
    /**
     * @param string $app the app's directory
     * @param string $kind the app's kind, as in `app.yaml`
     * @param string $index the front controller, relative to the docroot
     * @param string $dir working directory
     * @param string $host the address to listen at, if PHP itself listens
     * @param array<string, string> $needs what the runtime needs → where it was found
     * @param array<string, scalar|null> $settings the settings in force, by their names in plans
     * @param int $cpus the number of CPUs that the stack was given
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

    /** Returns a setting of the plan as a whole number. */
    public function integer(string $setting, int $default = 0): int
    {
        return (int) ($this->settings[$setting] ?? $default);
    }

    /** Returns a setting of the plan as a string. */
    public function string(string $setting, string $default = ''): string
    {
        return (string) ($this->settings[$setting] ?? $default);
    }

    /** Returns a setting of the plan as a switch. */
    public function isOn(string $setting): bool
    {
        return (bool) ($this->settings[$setting] ?? false);
    }
}
