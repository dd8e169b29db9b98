<?php

declare(strict_types=1);

namespace App;

use Symfony\Component\HttpFoundation\File\UploadedFile;

/** A service, which is one for all requests. */
final class Files
{
    public ?UploadedFile $last = null;
}
