<?php

declare(strict_types=1);

namespace Stampede\Worker\Check;

/** The app's directory: which files are its own code, and how they are named to people. */
final class Place
{
    private string $directory;

    public function __construct(string $directory)
    {
        $this->directory = realpath($directory) ?: $directory;
    }

    /** Whether its authors wrote it: in the directory, and neither a package's nor made by a framework. */
    public function isOwn(string|false $file): bool
    {
        if ($file === false || !str_starts_with($file, "{$this->directory}/")) {
            return false;
        }
        $inside = substr($file, strlen($this->directory));

        return !str_contains($inside, '/vendor/') && !str_starts_with($inside, '/var/cache/');
    }

    /** From the directory, where it is in there. */
    public function short(string $file): string
    {
        return str_starts_with($file, "{$this->directory}/") ? substr($file, strlen($this->directory) + 1) : $file;
    }

    /** Something that can be called, the same words for the same code. */
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

    /** That of an anonymous class has a path behind a null byte. */
    public function class(string $name): string
    {
        [$class, $place] = explode("\0", $name, 2) + ['', ''];

        return $place === '' ? $class : "$class " . $this->short(explode('$', $place)[0]);
    }
}
