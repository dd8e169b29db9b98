<?php

declare(strict_types=1);

use App\Http\Controllers\Pages;
use Illuminate\Support\Facades\Route;

foreach (Pages::paths() as $name => $path) {
    Route::match(['GET', 'POST'], $path, [Pages::class, Pages::method($name)]);
}
