<?php

declare(strict_types=1);

namespace Stampede\Worker\Tests;

use PHPUnit\Framework\TestCase;

/** Runs in a PHP process of its own, because loaded classes stay. */
final class LibraryTest extends TestCase
{
    private const CODE = <<<'CODE'
        $version = static fn (string $of): callable => static function (string $class) use ($of): void {
            if (strncmp($class, 'Psr\Http\Message\\', 17) === 0) {
                eval('namespace Psr\Http\Message; interface ' . substr($class, 17) . " { const OF = '$of'; }");
            }
        };
        spl_autoload_register($version('library'));
        \Stampede\Worker\Library::loadPsr7();
        spl_autoload_register($version('app'), true, true);
        echo \Psr\Http\Message\RequestInterface::OF, ' ', \Psr\Http\Message\UriInterface::OF;
        CODE;

    public function testPsr7IsTheLibrarysWhateverTheAppBrings(): void
    {
        $autoload = var_export(dirname(__DIR__) . '/autoload.php', true);
        $command = [PHP_BINARY, '-n', '-r', "require $autoload; " . self::CODE];
        exec(implode(' ', array_map('escapeshellarg', $command)), $lines, $status);
        self::assertSame(['library library'], $lines);
        self::assertSame(0, $status);
    }
}
