<?php

declare(strict_types=1);

use App\Http\Controllers\Pages;
use Illuminate\Support\Facades\Route;

foreach (Pages::paths() as $method => $path) {
    Route::get($path, [Pages::class, $method]);
}
