<?php

declare(strict_types=1);

namespace Stampede\Worker\Check;

use Stampede\Worker\App\SymfonyApp;

/**
 * The state of the process that a request may change and the next one finds: a value for each key.
 */
final class ProcessState
{
    /** Names that PHP itself has among the globals. */
    public const SUPERGLOBALS = [
        'GLOBALS', '_GET', '_POST', '_COOKIE', '_FILES', '_SERVER', '_ENV', '_REQUEST', '_SESSION',
    ];
    /**
     * How many bytes of a value are written. A longer value is written as its beginning and a hash.
     */
    private const LENGTH = 160;
    /** Names whose values nobody should read. Their hash shows whether they change. */
    private const SECRET = '/pass|pwd|secret|token|key|auth|credential|dsn|_url$|\b(pw|default_pw)$/i';

    public function __construct(private AppDirectory $appDirectory, private object $app)
    {
    }

    /**
     * Returns all state except what belongs to one request.
     *
     * @return array<string, scalar>
     */
    public function collect(mixed $errorHandler): array
    {
        return [
            'locale' => (string) setlocale(LC_ALL, '0'),
            'timezone' => date_default_timezone_get(),
            'error_handler' => $this->appDirectory->nameCallable($errorHandler),
            'exception_handler' => $this->appDirectory->nameCallable(self::exceptionHandler()),
            'umask' => Process::umask(),
            'session' => $this->session(),
            'libxml_errors' => self::libxml(),
            'error_reporting' => error_reporting(),
            'gc' => gc_enabled(),
            'streams' => self::streams(),
            'constants' => count(get_defined_constants(true)['user'] ?? []),
            'autoloaders' => count(spl_autoload_functions()),
        ] + $this->ini() + self::environment() + $this->globals();
    }

    /**
     * Returns the headers set by `header()` that PHP still has, without the one PHP always adds.
     */
    public static function formatHeaders(): string
    {
        $set = preg_grep('/^X-Powered-By:/i', headers_list(), PREG_GREP_INVERT) ?: [];

        return self::shorten(implode("\n", $set));
    }

    /**
     * @param array<mixed> $values
     * @return array<string, string>
     */
    public static function formatSuperglobal(string $begin, array $values): array
    {
        $formatted = [];
        foreach ($values as $name => $value) {
            $formatted["$begin$name"] = self::redact((string) $name, self::format($value));
        }

        return $formatted;
    }

    private static function exceptionHandler(): mixed
    {
        $handler = set_exception_handler(null);
        restore_exception_handler();

        return $handler;
    }

    /**
     * Includes a hash of the id, which the next session would have too. Not for Symfony, which
     * drops the id when a request comes.
     */
    private function session(): string
    {
        if (!function_exists('session_status')) {
            return '';
        }
        $words = [PHP_SESSION_NONE => 'none', PHP_SESSION_ACTIVE => 'active'];
        $id = $this->app instanceof SymfonyApp ? '' : (string) session_id();

        return ($words[session_status()] ?? 'disabled') . ($id === '' ? '' : ' ' . self::hash($id));
    }

    private static function libxml(): string
    {
        if (!function_exists('libxml_get_errors')) {
            return '';
        }
        $kept = libxml_use_internal_errors() ? 'kept' : 'raised';

        return "$kept, " . count(libxml_get_errors());
    }

    private static function streams(): string
    {
        $wrappers = count(stream_get_wrappers());
        $filters = count(stream_get_filters());

        return "$wrappers wrappers, $filters filters";
    }

    /** @return array<string, string> */
    private function ini(): array
    {
        $values = [];
        /** @var array<string, ?string> $settings */
        $settings = ini_get_all(null, false) ?: [];
        foreach ($settings as $name => $value) {
            // Symfony sets these each time it begins a session.
            if ($this->app instanceof SymfonyApp && str_starts_with($name, 'session.')) {
                continue;
            }
            $values["ini:$name"] = self::redact($name, (string) $value);
        }

        return $values;
    }

    /** @return array<string, string> */
    private static function environment(): array
    {
        $values = [];
        foreach (getenv() as $name => $value) {
            $values["env:$name"] = self::redact((string) $name, $value);
        }

        return $values;
    }

    /** @return array<string, string> */
    private function globals(): array
    {
        $values = [];
        foreach ($GLOBALS as $name => $value) {
            if (!in_array($name, self::SUPERGLOBALS, true)) {
                $values["globals:$name"] = self::redact((string) $name, match (true) {
                    is_array($value) => 'array of ' . count($value),
                    is_object($value) => $this->appDirectory->nameClass(get_class($value)),
                    default => get_debug_type($value) . ' ' . self::format($value),
                });
            }
        }

        return $values;
    }

    private static function format(mixed $value): string
    {
        return match (true) {
            is_string($value) => $value,
            is_bool($value) => $value ? 'true' : 'false',
            is_int($value) => (string) $value,
            // `var_export`: a cast would depend on `precision`, which the app may set.
            is_float($value) => var_export($value, true),
            is_array($value) => 'array of ' . count($value),
            default => get_debug_type($value),
        };
    }

    private static function redact(string $name, string $value): string
    {
        return preg_match(self::SECRET, $name) === 1 ? self::hash($value) : self::shorten($value);
    }

    public static function shorten(string $value): string
    {
        $isLong = strlen($value) > self::LENGTH;

        return $isLong ? substr($value, 0, self::LENGTH) . ' … ' . self::hash($value) : $value;
    }

    private static function hash(string $value): string
    {
        return '#' . substr(hash('sha256', $value), 0, 12);
    }
}
