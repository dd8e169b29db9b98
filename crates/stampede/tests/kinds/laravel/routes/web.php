<?php

declare(strict_types=1);

use App\Http\Controllers\KindController;
use Illuminate\Support\Facades\Route;

Route::get('/session', [KindController::class, 'session']);
