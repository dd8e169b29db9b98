<?php

declare(strict_types=1);

namespace Stampede\Worker\Check;

/** What an object holds, without a word to it: no `__get`, nothing that begins when it is used. */
final class Inside
{
    private const COLLECTIONS = [\SplObjectStorage::class, \SplDoublyLinkedList::class, \SplHeap::class];

    /** @return array<mixed> */
    public static function of(object $object): array
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

    /** Of a property, as an object cast to an array has it: classes stand before those not public. */
    public static function name(string $key): string
    {
        $end = strrpos($key, "\0");

        return $end === false ? $key : substr($key, $end + 1);
    }

    /** @return list<mixed> */
    private static function pairs(\WeakMap $map): array
    {
        $pairs = [];
        foreach ($map as $key => $value) {
            $pairs[] = [$key, $value];
        }

        return $pairs;
    }

    /** From PHP 8.4 on: to look would make it. */
    private static function isLazy(object $object): bool
    {
        static $canBe = null;
        $canBe ??= method_exists(\ReflectionClass::class, 'isUninitializedLazyObject');

        return $canBe && (new \ReflectionClass($object))->isUninitializedLazyObject($object);
    }
}
