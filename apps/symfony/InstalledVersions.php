<?php

declare(strict_types=1);

namespace Composer;

/**
 * Replaces Composer's class of this name. Symfony 6 asks it whether a package is installed for
 * development only. No package of a distribution is, so whatever is installed may be used.
 */
final class InstalledVersions
{
    public static function isInstalled(string $package, bool $developing = true): bool
    {
        return false;
    }
}
