<?php

declare(strict_types=1);

namespace Stampede\Worker\Check;

/** The app's directory. It tells which files are the app's own code, and names code in reports. */
final class AppDirectory
{
    private string $directory;

    public function __construct(string $directory)
    {
        $this->directory = realpath($directory) ?: $directory;
    }

    /**
     * Tells whether the app's authors wrote the file: it is no package's, and no framework made it.
     */
    public function isOwn(string|false $file): bool
    {
        if ($file === false || !str_starts_with($file, "{$this->directory}/")) {
            return false;
        }
        $relative = substr($file, strlen($this->directory));

        return !str_contains($relative, '/vendor/') && !str_starts_with($relative, '/var/cache/');
    }

    /** Returns the path relative to the app's directory, or unchanged if the file is elsewhere. */
    public function relativePath(string $file): string
    {
        return str_starts_with($file, "{$this->directory}/") ? substr($file, strlen($this->directory) + 1) : $file;
    }

    /** Names something callable. The same code always gets the same name. */
    public function nameCallable(mixed $callable): string
    {
        return match (true) {
            $callable === null => 'none',
            is_string($callable) => $callable,
            $callable instanceof \Closure => $this->nameClosure(new \ReflectionFunction($callable)),
            is_object($callable) => $this->nameClass(get_class($callable)) . '::__invoke',
            is_array($callable) && is_object($callable[0] ?? null) && is_string($callable[1] ?? null)
                => $this->nameClass(get_class($callable[0])) . "::$callable[1]",
            is_array($callable) => implode('::', $callable),
            default => get_debug_type($callable),
        };
    }

    public function nameClosure(\ReflectionFunctionAbstract $closure): string
    {
        return "closure {$this->relativePath((string) $closure->getFileName())}:{$closure->getStartLine()}";
    }

    /**
     * Names a class. An anonymous class's name has a path behind a null byte, which is shortened.
     */
    public function nameClass(string $name): string
    {
        [$class, $place] = explode("\0", $name, 2) + ['', ''];

        return $place === '' ? $class : "$class " . $this->relativePath(explode('$', $place)[0]);
    }
}
