<?php

declare(strict_types=1);

namespace App\Controller;

use App\Served;

/** What `pages.php` has. */
final class Pages extends Served
{
}
