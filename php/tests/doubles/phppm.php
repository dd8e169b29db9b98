<?php

declare(strict_types=1);

// PHP-PM's master, which also plays a worker: it calls the bridge three times.

namespace PHPPM\Bridges {
    interface BridgeInterface
    {
    }
}

namespace Stampede\Worker\Pool {
    // The extension may be missing where tests run. No signal is sent here.
    function posix_getppid(): int
    {
        return 1;
    }

    function posix_kill(int $pid, int $signal): bool
    {
        return true;
    }
}

namespace Symfony\Component\Console\Output {
    final class StreamOutput
    {
        public function __construct(public $stream)
        {
        }
    }
}

namespace PHPPM {
    use React\EventLoop\Loop;
    use React\Http\Message\ServerRequest;
    use Symfony\Component\Console\Output\StreamOutput;

    final class ProcessSlave
    {
    }

    final class ProcessManager
    {
        /** @var array<string, mixed> */
        private array $options = [];

        public function __construct(StreamOutput $output, int $port, string $host, int $workers)
        {
            $this->options['workers'] = $workers;
        }

        /** @param list<mixed> $arguments */
        public function __call(string $name, array $arguments): void
        {
            $this->options[$name] = $arguments[0];
        }

        public function run(): void
        {
            self::begin();
            $ini = parse_ini_file(getenv('PHP_INI_SCAN_DIR') . '/begin.ini');
            require $ini['auto_prepend_file'];
            $bridge = new $this->options['setBridge']();
            $bridge->bootstrap($this->options['setAppBootstrap'], $this->options['setAppEnv'], false);
            $answers = [];
            foreach (['/1', '/2', '/3'] as $target) {
                $response = $bridge->handle(new ServerRequest([
                    'method' => 'GET', 'requestTarget' => $target, 'protocolVersion' => '1.1',
                    'body' => '', 'attribute' => '10.0.0.1',
                ]));
                $answers[] = $response->getStatusCode() . ' ' . $response->getBody();
            }
            Loop::addTimer(0.01, static fn () => Loop::stop());
            Loop::run();
            fwrite(STDERR, json_encode([$answers, $this->options]));
        }

        /** Shows errors that no log on standard error has, and ends after the first thing that was shown. */
        private static function begin(): void
        {
            if (ini_get('error_log') || !ini_get('log_errors')) {
                ini_set('display_errors', '1');
            }
            if (defined('OLD_CODE')) {
                trigger_error('old code', E_USER_DEPRECATED);
            }
            if (headers_sent()) {
                throw new \ErrorException('something was printed');
            }
        }
    }
}
