<?php

declare(strict_types=1);

namespace Composer;

/**
 * Stands for Composer's class of this name, which Symfony 6 asks whether a package is there for
 * developing only: of a distribution's packages none is, so that what is there may be used.
 */
final class InstalledVersions
{
    public static function isInstalled(string $package, bool $developing = true): bool
    {
        return false;
    }
}
