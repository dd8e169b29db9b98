<?php

declare(strict_types=1);

namespace Stampede\Worker\Check;

/**
 * Finds the app's own objects and closures that live as long as the booted app: its handler, and
 * what a framework's container keeps. The search begins at the app. All else that it meets is the
 * framework's, which has its own rules for how long it keeps things.
 */
final class Services
{
    /** The most arrays and objects that are searched. Of a larger app none is reported. */
    private const NODES = 60_000;
    /** Types of objects that are reset when the next request comes, or that hold everything. */
    private const LEFT_ALONE = [
        'Symfony\Contracts\Service\ResetInterface',
        'Psr\Container\ContainerInterface',
        'Symfony\Component\HttpKernel\HttpKernelInterface',
        'Illuminate\Contracts\Http\Kernel',
        'Illuminate\Support\ServiceProvider',
    ];

    /** @var array<int, true> ids of the framework's objects */
    private array $foreign = [];
    /** @var array<int, object> */
    private array $own = [];

    /** @param Connections $connections collects the connections that the framework holds */
    public function __construct(private AppDirectory $appDirectory, object $app, private Connections $connections)
    {
        $this->search($app);
    }

    /** @return array<int, true> ids of objects that a walk does not enter from another object */
    public function knownIds(): array
    {
        return $this->foreign + array_fill_keys(array_keys($this->own), true);
    }

    /** @return iterable<string, mixed> values by the place that holds them */
    public function values(): iterable
    {
        foreach ($this->own as $object) {
            if ($object instanceof \Closure) {
                $closure = new \ReflectionFunction($object);
                $where = $this->appDirectory->nameClosure($closure) . ' static ';
                foreach ($closure->getStaticVariables() as $name => $value) {
                    yield "$where\$$name" => $value;
                }
                continue;
            }
            $class = $this->appDirectory->nameClass(get_class($object));
            foreach (ObjectContents::read($object) as $name => $value) {
                yield "$class->" . ObjectContents::propertyName((string) $name) => $value;
            }
        }
    }

    private function search(object $app): void
    {
        /** @var array<int, array<mixed>|object> $next */
        $next = [$app];
        for ($at = 0; isset($next[$at]); $at++) {
            if ($at === self::NODES) {
                $this->own = [];

                return;
            }
            $contents = is_array($next[$at]) ? $next[$at] : $this->enter($next[$at]);
            $holder = is_array($next[$at]) ? '' : get_class($next[$at]) . '->';
            unset($next[$at]);
            foreach ($contents as $name => $value) {
                if (is_object($value)) {
                    $where = $holder === '' ? '' : $holder . ObjectContents::propertyName((string) $name);
                    $this->connections->add($value, $where);
                }
                if (is_object($value) || (is_array($value) && $value !== [])) {
                    $next[] = $value;
                }
            }
        }
    }

    /**
     * @return array<mixed> what to search next: all that a framework's object holds, or an own
     *     object's services
     */
    private function enter(object $object): array
    {
        $id = spl_object_id($object);
        if (isset($this->foreign[$id]) || isset($this->own[$id])) {
            return [];
        }
        if ($this->isOwn($object)) {
            $this->own[$id] = $object;

            return $this->constructorServices($object);
        }
        $this->foreign[$id] = true;

        return ObjectContents::read($object);
    }

    /** @return list<object> own services that the object got through its constructor */
    private function constructorServices(object $object): array
    {
        $types = [];
        foreach ((new \ReflectionClass($object))->getConstructor()?->getParameters() ?? [] as $parameter) {
            $type = $parameter->getType();
            $types[] = $type instanceof \ReflectionNamedType ? $type->getName() : '';
        }
        $isGiven = fn (mixed $value): bool => is_object($value) && $this->isOwn($value)
            && array_filter($types, static fn (string $type): bool => $value instanceof $type) !== [];
        /** @var list<object> $given */
        $given = $types === [] ? [] : array_values(array_filter(ObjectContents::read($object), $isGiven));

        return $given;
    }

    private function isOwn(object $object): bool
    {
        foreach (self::LEFT_ALONE as $type) {
            if ($object instanceof $type) {
                return false;
            }
        }
        $code = $object instanceof \Closure
            ? new \ReflectionFunction($object)
            : new \ReflectionClass($object);

        return $this->appDirectory->isOwn($code->getFileName());
    }
}
