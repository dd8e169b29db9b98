<?php

declare(strict_types=1);

use App\Http\Controllers\Pages;
use Illuminate\Support\Facades\Route;

Route::get('/', [Pages::class, 'home']);
Route::get('/about', [Pages::class, 'about']);
Route::get('/basket', [Pages::class, 'basket']);
Route::get('/form', [Pages::class, 'form']);
Route::get('/now', [Pages::class, 'now']);
Route::get('/imprint', [Pages::class, 'imprint']);
