//! Static properties and variables, globals and superglobals.

use super::*;

#[test]
fn a_written_static_property_is_reported_by_its_full_name() {
    each_names(
        SuspectKind::StaticWritten,
        &[
            ("self::$x = $a;", "App\\Cart::$x"),
            ("static::$x = $a;", "App\\Cart::$x"),
            ("Cart::$x = $a;", "App\\Cart::$x"),
            ("\\App\\Cart::$x = $a;", "App\\Cart::$x"),
            ("parent::$x = $a;", "App\\Basket::$x"),
            ("Other::$x = $a;", "Lib\\Other::$x"),
            ("$a::$x = 1;", "$a::$x"),
            ("self::$x[] = $a;", "App\\Cart::$x[] (grows)"),
            ("self::$x[$a][] = $b;", "App\\Cart::$x[] (grows)"),
            ("self::$x[$a] = $b;", "App\\Cart::$x[…]"),
            ("self::$x ??= f($a);", "App\\Cart::$x (kept once made)"),
            ("if (null === self::$x) { self::$x = f($a); }", "App\\Cart::$x (kept once made)"),
            ("if (!self::$x) self::$x = new Other();", "App\\Cart::$x (kept once made)"),
            ("self::$x++;", "App\\Cart::$x"),
            ("self::$x .= $a;", "App\\Cart::$x"),
            ("array_push(self::$x, $a);", "App\\Cart::$x"),
            ("foreach (self::$x as &$v) { $v = 1; }", "App\\Cart::$x"),
            ("[self::$x, $b] = $a;", "App\\Cart::$x"),
            ("$f = function () use ($a) { self::$x = $a; };", "App\\Cart::$x"),
            ("$f = fn() => self::$x = $a;", "App\\Cart::$x"),
            // Reported once for each method.
            ("self::$x = $a; self::$x = $b;", "App\\Cart::$x"),
        ],
    );
}

#[test]
fn a_static_property_that_is_only_read_or_emptied_is_not_reported() {
    none_names_any(&[
        "return self::$x;",
        "return self::$x[$a] ?? null;",
        "self::$x = null;",
        "self::$x = [];",
        "self::$x = ['a' => 1, 'b' => Other::C, 'c' => [-1, 'd']];",
        "unset(self::$x[$a]);",
        "unset(self::$x);",
        "foreach (self::$x as $v) {}",
        "$a[self::$x] = 1;",
        "count(self::$x);",
    ]);
}

#[test]
fn code_that_runs_at_boot_or_resets_state_is_not_reported() {
    let provider = "<?php class AppServiceProvider extends ServiceProvider {\n\
                    public function boot() { Model::$snakes = false; } }";
    let reset = "<?php class C { static $x; function reset() { self::$x = 1; } }";
    assert_eq!(suspects_of_file(AppKind::Laravel, "app/Providers/P.php", provider), [""; 0]);
    assert_eq!(suspects_of_file(AppKind::Symfony, "src/C.php", reset), [""; 0]);
    assert_eq!(suspects_of_file(AppKind::Symfony, "src/C.php", "<?php C::$x = f();"), [""; 0]);
    assert_eq!(
        suspects_of_file(AppKind::Script, "page.php", "<?php C::$x = f();"),
        ["1 static-written C::$x"]
    );
}

#[test]
fn a_static_variable_is_reported_where_it_is_written() {
    each_names(
        SuspectKind::StaticVariable,
        &[
            ("static $m = []; $m[$a] = $b;", "$m[…]"),
            ("static $m = []; $m[] = $b;", "$m[] (grows)"),
            ("static $m; $m ??= f();", "$m (kept once made)"),
            ("static $m; if ($m === null) { $m = f(); } return $m;", "$m (kept once made)"),
            ("static $m; $m ??= new \\PDO($a);", "$m (kept once made)"),
            ("static $m; $m ??= user();", "$m (kept once made)"),
            ("static $n = 0; $n++;", "$n"),
            ("static $n, $m; $m = $a;", "$m"),
            ("$f = function () { static $n = 0; return ++$n; };", "$n"),
        ],
    );
    none_names_any(&[
        "static $m = ['a' => 1]; return $m[$a];",
        "static $m; if (!$m) { $m = ['a' => 1, 'b' => [2]]; } return $m;",
        "static fn() => 1;",
        // The value is the same for whichever request comes first.
        "static $m; $m ??= require __DIR__ . '/map.php'; return $m;",
        "static $m; if (!$m) { $m = new \\PDO((string) getenv('DSN'), getenv('U') ?: null); }",
        "static $has; return $has ??= extension_loaded('intl');",
    ]);
}

#[test]
fn globals_are_reported_where_they_outlive_a_request() {
    each_names(
        SuspectKind::Global,
        &[
            ("global $db; return $db;", "$db"),
            ("$GLOBALS['a'] = $a;", "$GLOBALS['a']"),
            ("$GLOBALS['a'][] = $a;", "$GLOBALS['a']"),
        ],
    );
    none_names_any(&["return $GLOBALS['a'] ?? null;", "unset($GLOBALS['a']);"]);
    // A script gets new globals for each request; only a write is suspicious.
    assert_eq!(in_method_of(AppKind::Script, "global $db; return $db;"), []);
    assert_eq!(
        in_method_of(AppKind::Script, "global $db; $db = $a;"),
        [(SuspectKind::Global, "$db".to_owned())]
    );
}

#[test]
fn superglobals_are_reported_in_apps_with_a_framework() {
    each_names(
        SuspectKind::Superglobal,
        &[
            ("return $_GET['a'];", "$_GET"),
            ("return $_POST;", "$_POST"),
            ("return $_COOKIE['a'] ?? $_COOKIE['b'];", "$_COOKIE"),
            ("return $_SERVER['REQUEST_URI'];", "$_SERVER['REQUEST_URI']"),
            ("return $_SERVER[\"HTTP_HOST\"];", "$_SERVER['HTTP_HOST']"),
            ("return file_get_contents('php://input');", "php://input"),
            ("return filter_input(INPUT_GET, 'a');", "filter_input()"),
        ],
    );
    each_names(SuspectKind::Session, &[("$_SESSION['a'] = 1;", "$_SESSION")]);
    each_names(SuspectKind::Putenv, &[("$_ENV['A'] = $a;", "$_ENV['A']")]);
    none_names_any(&[
        "return $_SERVER['APP_ENV'] ?? $_ENV['APP_ENV'];",
        "return $_SERVER['argv'];",
        "return $_SERVER[$a];",
        "return getenv('A');",
    ]);
    assert_eq!(in_method_of(AppKind::Callable, "return $_GET['a'];"), []);
    assert_eq!(in_method_of(AppKind::Script, "$_SESSION['a'] = $_GET['a']; header('A: b');"), []);
}
