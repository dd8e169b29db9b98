<?php

declare(strict_types=1);

namespace Stampede\Worker\Check;

/** Lists what an object holds without running its code: no `__get`, no lazy initialisation. */
final class ObjectContents
{
    private const COLLECTIONS = [\SplObjectStorage::class, \SplDoublyLinkedList::class, \SplHeap::class];

    /** @return array<mixed> */
    public static function read(object $object): array
    {
        if ($object instanceof \Closure) {
            $closure = new \ReflectionFunction($object);

            return [...array_values($closure->getStaticVariables()), $closure->getClosureThis()];
        }
        if ($object instanceof \WeakMap) {
            return self::pairs($object);
        }
        foreach (self::COLLECTIONS as $class) {
            if ($object instanceof $class) {
                return (array) (new \ReflectionMethod($class, '__debugInfo'))->invoke($object);
            }
        }

        return self::isLazy($object) ? [] : (array) $object;
    }

    /**
     * Returns a property's name from its key in an array cast, without the class of a private one.
     */
    public static function propertyName(string $key): string
    {
        $end = strrpos($key, "\0");

        return $end === false ? $key : substr($key, $end + 1);
    }

    /**
     * @param \WeakMap<object, mixed> $map
     * @return list<mixed>
     */
    private static function pairs(\WeakMap $map): array
    {
        $pairs = [];
        foreach ($map as $key => $value) {
            $pairs[] = [$key, $value];
        }

        return $pairs;
    }

    /** PHP 8.4 and later: tells whether the object is lazy. Looking into it would initialise it. */
    private static function isLazy(object $object): bool
    {
        static $canBe = null;
        $canBe ??= method_exists(\ReflectionClass::class, 'isUninitializedLazyObject');

        // @phpstan-ignore method.notFound (older PHP has no such method: see above)
        return $canBe && (new \ReflectionClass($object))->isUninitializedLazyObject($object);
    }
}
