<?php

declare(strict_types=1);

namespace Stampede\Worker\Check;

/** What the app's own code keeps outside of objects: static properties, and variables of functions. */
final class Owned
{
    /** @var array<string, \ReflectionProperty> by how it is named to people */
    private array $properties = [];
    /** @var array<string, \ReflectionFunctionAbstract> that have static variables */
    private array $functions = [];
    /** @var array<string, true> classes and functions that were looked at */
    private array $known = [];

    public function __construct(private Place $place)
    {
    }

    /** @return iterable<string, mixed> by where it is */
    public function values(): iterable
    {
        $this->learn();
        foreach ($this->properties as $where => $property) {
            // A typed one may have no value yet.
            if ($property->isInitialized()) {
                yield $where => $property->getValue();
            }
        }
        foreach ($this->functions as $function => $reflection) {
            foreach ($reflection->getStaticVariables() as $name => $value) {
                yield "$function static \$$name" => $value;
            }
        }
    }

    /** Classes and functions that have come since. */
    private function learn(): void
    {
        foreach (get_declared_classes() as $class) {
            if (!isset($this->known[$class])) {
                $this->known[$class] = true;
                $this->class(new \ReflectionClass($class));
            }
        }
        foreach (get_defined_functions()['user'] as $name) {
            if (!isset($this->known["$name()"])) {
                $this->known["$name()"] = true;
                $function = new \ReflectionFunction($name);
                $this->place->isOwn($function->getFileName())
                    && $this->function("function {$function->getName()}()", $function);
            }
        }
    }

    /** @param \ReflectionClass<object> $class */
    private function class(\ReflectionClass $class): void
    {
        if (!$this->place->isOwn($class->getFileName())) {
            return;
        }
        $name = $this->place->class($class->getName());
        foreach ($class->getProperties(\ReflectionProperty::IS_STATIC) as $property) {
            if ($property->getDeclaringClass()->getName() === $class->getName()) {
                $property->setAccessible(true);
                $this->properties["$name::\${$property->getName()}"] = $property;
            }
        }
        foreach ($class->getMethods() as $method) {
            if ($method->getDeclaringClass()->getName() === $class->getName()) {
                $this->function("$name::{$method->getName()}()", $method);
            }
        }
    }

    private function function(string $where, \ReflectionFunctionAbstract $function): void
    {
        if ($function->getStaticVariables() !== []) {
            $this->functions[$where] = $function;
        }
    }
}
