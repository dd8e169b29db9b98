<?php

declare(strict_types=1);

namespace App\Http\Controllers;

use App\Served;

/** Serves the pages of `pages.php`. */
final class Pages extends Served
{
}
