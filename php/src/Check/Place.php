<?php

declare(strict_types=1);

namespace Stampede\Worker\Check;

/** The app's directory. It tells which files are the app's own code, and names code in reports. */
final class Place
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
        $inside = substr($file, strlen($this->directory));

        return !str_contains($inside, '/vendor/') && !str_starts_with($inside, '/var/cache/');
    }

    /** Returns the path relative to the app's directory, or unchanged if the file is elsewhere. */
    public function short(string $file): string
    {
        return str_starts_with($file, "{$this->directory}/") ? substr($file, strlen($this->directory) + 1) : $file;
    }

    /** Names something callable. The same code always gets the same name. */
    public function callable(mixed $callable): string
    {
        return match (true) {
            $callable === null => 'none',
            is_string($callable) => $callable,
            $callable instanceof \Closure => $this->closure(new \ReflectionFunction($callable)),
            is_object($callable) => $this->class(get_class($callable)) . '::__invoke',
            is_array($callable) && is_object($callable[0] ?? null)
                => $this->class(get_class($callable[0])) . "::$callable[1]",
            is_array($callable) => implode('::', $callable),
            default => get_debug_type($callable),
        };
    }

    public function closure(\ReflectionFunctionAbstract $closure): string
    {
        return "closure {$this->short((string) $closure->getFileName())}:{$closure->getStartLine()}";
    }

    /**
     * Names a class. An anonymous class's name has a path behind a null byte, which is shortened.
     */
    public function class(string $name): string
    {
        [$class, $place] = explode("\0", $name, 2) + ['', ''];

        return $place === '' ? $class : "$class " . $this->short(explode('$', $place)[0]);
    }
}
