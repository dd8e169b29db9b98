<?php

declare(strict_types=1);

namespace Stampede\Worker\Check;

/**
 * What the app's code keeps outside of objects: static properties and functions' static variables.
 */
final class StaticVariables
{
    /** @var array<string, \ReflectionProperty> static properties, by their names in reports */
    private array $properties = [];
    /** @var array<string, \ReflectionFunctionAbstract> functions that have static variables */
    private array $functions = [];
    /** @var array<string, true> classes and functions that were already looked at */
    private array $known = [];

    public function __construct(private AppDirectory $appDirectory)
    {
    }

    /** @return iterable<string, mixed> values by the place that holds them */
    public function values(): iterable
    {
        $this->discover();
        foreach ($this->properties as $where => $property) {
            // A typed property may have no value yet.
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

    /** Adds the classes and functions that were declared since the last call. */
    private function discover(): void
    {
        foreach (get_declared_classes() as $class) {
            if (!isset($this->known[$class])) {
                $this->known[$class] = true;
                $this->addClass(new \ReflectionClass($class));
            }
        }
        foreach (get_defined_functions()['user'] as $name) {
            if (!isset($this->known["$name()"])) {
                $this->known["$name()"] = true;
                $function = new \ReflectionFunction($name);
                $this->appDirectory->isOwn($function->getFileName())
                    && $this->addFunction("function {$function->getName()}()", $function);
            }
        }
    }

    /** @param \ReflectionClass<object> $class */
    private function addClass(\ReflectionClass $class): void
    {
        if (!$this->appDirectory->isOwn($class->getFileName())) {
            return;
        }
        $name = $this->appDirectory->nameClass($class->getName());
        foreach ($class->getProperties(\ReflectionProperty::IS_STATIC) as $property) {
            if ($property->getDeclaringClass()->getName() === $class->getName()) {
                $property->setAccessible(true);
                $this->properties["$name::\${$property->getName()}"] = $property;
            }
        }
        foreach ($class->getMethods() as $method) {
            if ($method->getDeclaringClass()->getName() === $class->getName()) {
                $this->addFunction("$name::{$method->getName()}()", $method);
            }
        }
    }

    private function addFunction(string $where, \ReflectionFunctionAbstract $function): void
    {
        if ($function->getStaticVariables() !== []) {
            $this->functions[$where] = $function;
        }
    }
}
