<?php

declare(strict_types=1);

use App\Http\Controllers\HomeController;
use App\Http\Controllers\KindController;
use Illuminate\Support\Facades\Route;

Route::get('/', HomeController::class);
foreach (['form', 'cookies', 'upload'] as $name) {
    Route::match(['GET', 'POST'], "/$name", [KindController::class, $name]);
}
