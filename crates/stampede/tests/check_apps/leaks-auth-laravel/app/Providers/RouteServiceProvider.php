<?php

declare(strict_types=1);

namespace App\Providers;

use App\Greeter;
use Illuminate\Auth\GenericUser;
use Illuminate\Foundation\Support\Providers\RouteServiceProvider as ServiceProvider;
use Illuminate\Http\Request;
use Illuminate\Support\Facades\Auth;
use Illuminate\Support\Facades\Route;

/** Loads the routes from `routes`, and defines who is signed in. */
final class RouteServiceProvider extends ServiceProvider
{
    public function register(): void
    {
        parent::register();
        $this->app->singleton(Greeter::class);
    }

    public function boot(): void
    {
        Auth::viaRequest('named', static fn (Request $request): GenericUser => new GenericUser([
            'id' => $request->cookie('user') ?? $request->query('user') ?? 'guest',
        ]));
        $this->routes(static function (): void {
            Route::middleware('web')->group(base_path('routes/web.php'));
        });
    }
}
