<?php

declare(strict_types=1);

namespace Stampede\Worker\Amp;

use Psr\Log\AbstractLogger;
use Psr\Log\LogLevel;

/** Writes AMPHP's messages to standard error, from the level of a warning upwards. */
final class Log extends AbstractLogger
{
    private const QUIET = [LogLevel::DEBUG, LogLevel::INFO, LogLevel::NOTICE];

    /**
     * Without types: they differ between versions of PSR-3.
     *
     * @param mixed $level
     * @param string|\Stringable $message
     * @param array<mixed> $context
     */
    public function log($level, $message, array $context = []): void
    {
        if (!in_array($level, self::QUIET, true)) {
            fwrite(STDERR, 'stampede: AMPHP: ' . strtok((string) $message, "\n") . "\n");
        }
    }
}
