//! Objects that keep a request, a session, a user or a handle.

use super::*;

const SYMFONY: &str = "<?php namespace App\\Service;\n\
    use Symfony\\Component\\HttpFoundation\\{Request, RequestStack};\n\
    use Symfony\\Component\\Security\\Core\\User\\UserInterface;\n";

fn symfony(class: &str) -> Vec<String> {
    suspects_of_file(AppKind::Symfony, "src/Service/A.php", &format!("{SYMFONY}{class}"))
}

#[test]
fn a_service_that_keeps_a_request_is_reported() {
    for (class, expected) in [
        (
            "class Prices { public function __construct(private readonly Request $request) {} }",
            "4 keeps-request App\\Service\\Prices::$request @ App\\Service\\Prices::__construct",
        ),
        (
            "class Prices { function of(?Request $r) { $this->request = $r; } }",
            "4 keeps-request App\\Service\\Prices::$request @ App\\Service\\Prices::of",
        ),
        (
            "class Prices { function on($e) { $this->last = $e->getRequest(); } }",
            "4 keeps-request App\\Service\\Prices::$last @ App\\Service\\Prices::on",
        ),
        (
            "class UserManager { function use(UserInterface $u) { $this->user = $u; } }",
            "4 keeps-request App\\Service\\UserManager::$user @ App\\Service\\UserManager::use",
        ),
        (
            "class Prices { static $r; function of(Request $r) { self::$r = $r; } }",
            "4 keeps-request App\\Service\\Prices::$r @ App\\Service\\Prices::of",
        ),
    ] {
        assert_eq!(symfony(class), [expected], "{class}");
    }
}

#[test]
fn a_service_that_fetches_or_releases_the_request_is_not_reported() {
    for class in [
        "class Prices { function __construct(private RequestStack $stack) {} }",
        "class Prices { function of(Request $r) { $r = $r; return $this->f($r); } }",
        "class Prices { function of(Request $r) { $this->locale = $r->getLocale(); } }",
        "class OrderEvent { function __construct(private Request $request) {} }",
        "class OrderDto { function __construct(private UserInterface $user) {} }",
        "class Prices extends \\Exception { function __construct(private Request $r) {} }",
        "class Prices implements ResetInterface { function of(Request $r) { $this->r = $r; }\n\
         function reset(): void { $this->r = null; } }",
        "class Prices { function of(Request $r) { $this->r = $r; try { f(); } finally { $this->r = null; } } }",
    ] {
        assert_eq!(symfony(class), [""; 0], "{class}");
    }
}

#[test]
fn an_entity_may_keep_a_user() {
    let code = "<?php namespace App\\Entity; class Order { private User $user;\n\
                function setUser(User $user) { $this->user = $user; } }";
    assert_eq!(suspects_of_file(AppKind::Symfony, "src/Entity/Order.php", code), [""; 0]);
}

#[test]
fn an_object_created_with_new_lives_no_longer_than_its_creator() {
    let code = |made: &str| {
        [
            ("src/A.php", "<?php namespace App; class PriceHandler { function __construct(private Request $r) {} }".to_owned()),
            ("src/B.php", format!("<?php namespace App; class B {{ function f(Request $r) {{ return {made}; }} }}")),
        ]
    };
    let count_suspects = |made: &str| {
        let files = code(made);
        let files: Vec<_> = files.iter().map(|(file, code)| (*file, code.as_str())).collect();
        suspects_of(AppKind::Symfony, &files).len()
    };
    assert_eq!(count_suspects("$this->handler"), 1);
    assert_eq!(count_suspects("new PriceHandler($r)"), 0);
}

#[test]
fn a_laravel_singleton_that_gets_the_request_is_reported() {
    let provider = |body: &str| {
        let code = format!(
            "<?php namespace App; use Lib\\Cart; class P extends ServiceProvider {{\n\
             public function register() {{ {body} }} }}"
        );
        suspects_of_file(AppKind::Laravel, "app/Providers/P.php", &code)
    };
    let expected = ["2 keeps-request singleton Lib\\Cart @ App\\P::register"];
    for body in [
        "$this->app->singleton(Cart::class, function ($app) { return new Cart($app['request']); });",
        "$this->app->singleton(Cart::class, fn ($app) => new Cart($app->make('request')));",
        "$this->app->singleton(Cart::class, fn () => new Cart(request()));",
        "$this->app->singleton(Cart::class, fn () => new Cart(Auth::user()));",
        "app()->singleton(Cart::class, fn () => new Cart(auth()->user()));",
        "$this->app->instance(Cart::class, request());",
    ] {
        assert_eq!(provider(body), expected, "{body}");
    }
    for body in [
        "$this->app->scoped(Cart::class, fn ($app) => new Cart($app['request']));",
        "$this->app->bind(Cart::class, fn ($app) => new Cart($app['request']));",
        "$this->app->singleton(Cart::class, fn ($app) => new Cart(fn () => request()));",
        "$this->app->singleton(Cart::class, fn ($app) => new Cart($app['config']));",
        "$this->app->singleton(Cart::class, fn () => new Cart(request('page')));",
        "$this->app->singleton(Cart::class);",
    ] {
        assert_eq!(provider(body), [""; 0], "{body}");
    }
}

#[test]
fn laravels_container_creates_most_objects_anew() {
    let cart = "<?php namespace App; use Illuminate\\Http\\Request; class CartService {\n\
                public function __construct(private Request $request) {} }";
    let provider = "<?php namespace App; class P extends ServiceProvider { function register() {\n\
                    $this->app->singleton(CartService::class); } }";
    let listed = "<?php namespace App; class P extends ServiceProvider {\n\
                  public $singletons = [CartService::class]; }";
    let files = |provider| [("app/CartService.php", cart), ("app/P.php", provider)];
    assert_eq!(suspects_of_file(AppKind::Laravel, "app/CartService.php", cart), [""; 0]);
    for provider in [provider, listed] {
        assert_eq!(
            suspects_of(AppKind::Laravel, &files(provider)),
            ["2 keeps-request App\\CartService::$request @ App\\CartService::__construct"]
        );
    }
    let controller = cart.replace("CartService", "CartController");
    assert_eq!(suspects_of_file(AppKind::Laravel, "app/CartController.php", &controller).len(), 1);
    assert_eq!(suspects_of_file(AppKind::Lumen, "app/CartController.php", &controller), [""; 0]);
}

#[test]
fn a_service_that_never_closes_its_handle_is_reported() {
    let open = "class Log { function __construct() { $this->to = @fopen('log', 'a'); } }";
    assert_eq!(
        symfony(open),
        ["4 file-handle App\\Service\\Log::$to = fopen() @ App\\Service\\Log::__construct"]
    );
    for closed in [
        "class Log { function f() { $this->to = fopen('a', 'a'); fclose($this->to); } }",
        "class Log { function f() { $this->to = fopen('a', 'a'); } function __destruct() {} }",
        "class Log { function f() { $to = fopen('a', 'a'); } }",
    ] {
        assert_eq!(symfony(closed), [""; 0], "{closed}");
    }
}

#[test]
fn a_service_with_a_growing_list_is_reported() {
    let gathers = "class Report { private array $lines = [];\n\
                   function add(string $line) { $this->lines[] = $line; }";
    assert_eq!(
        symfony(&format!("{gathers} }}")),
        ["5 gathers App\\Service\\Report::$lines[] (grows) @ App\\Service\\Report::add"]
    );
    for rest in [
        "function send() { $this->lines = []; } }",
        "function next() { return array_shift($this->lines); } }",
        "function clear() { unset($this->lines); } }",
    ] {
        assert_eq!(symfony(&format!("{gathers} {rest}")), [""; 0], "{rest}");
    }
    for class in [
        "class ReportDto { function add(string $line) { $this->lines[] = $line; } }",
        "class Report { function add(PartInterface $part) { $this->parts[] = $part; } }",
        "class Report { function __construct($a) { $this->parts[] = $a; } }",
        "class Report implements ResetInterface { function f($a) { $this->parts[] = $a; }\n\
         function reset(): void { $this->empty(); } }",
    ] {
        assert_eq!(symfony(class), [""; 0], "{class}");
    }
    let laravel = "<?php class ReportService { function add($a) { $this->a[] = $a; } }";
    assert_eq!(
        suspects_of_file(AppKind::Laravel, "app/Services/ReportService.php", laravel),
        [""; 0]
    );
}
