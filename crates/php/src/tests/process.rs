//! Code that ends or changes the process, or bypasses the framework.

use super::*;

#[test]
fn every_form_of_exit_is_found() {
    each_names(
        SuspectKind::Exit,
        &[
            ("exit;", "exit"),
            ("exit(1);", "exit"),
            ("EXIT();", "exit"),
            ("\\exit();", "exit"),
            ("die;", "die"),
            ("die('sorry');", "die"),
            ("$a or die(\"no $b\");", "die"),
            ("if ($a) { exit; }", "exit"),
            ("dd($a);", "dd()"),
            ("$f = function () { exit; };", "exit"),
        ],
    );
    none_names_any(&["$this->exit();", "Other::exit();", "$a->die('x');", "return 'exit;';"]);
}

#[test]
fn an_exit_in_command_line_code_is_not_reported() {
    none_names_any(&[
        "if (PHP_SAPI_OF_TEST) {} elseif (\\defined('STDIN')) { exit(1); }",
        "if ($this->app->runningInConsole()) { exit(1); }",
        "if (!$this->app->runningInConsole()) { return; } else { exit(1); }",
    ]);
    for (file, code) in [
        ("src/run.php", "#!/usr/bin/env php\n<?php f(); exit(1);"),
        ("src/run.php", "<?php if (PHP_SAPI !== 'cli') { die('no'); } f(); exit(1);"),
        ("src/run.php", "<?php if (PHP_SAPI === 'cli') { exit(1); }"),
        ("src/A.php", "<?php class A extends Command { function execute() { exit(1); } }"),
        ("src/A.php", "<?php #[AsCommand('a')] class A { function __invoke() { exit(1); } }"),
        ("src/A.php", "<?php class A extends \\PHPUnit\\TestCase { function a() { exit(1); } }"),
        ("src/A.php", "<?php defined('ABSPATH') || exit; class A {}"),
        ("src/A.php", "<?php if (!defined('ABSPATH')) { exit; } class A {}"),
        ("bin/console", "<?php exit(1);"),
        ("bin/run.php", "<?php exit(1);"),
        ("public/index.php", "<?php exit(1);"),
    ] {
        assert_eq!(suspects_of_file(AppKind::Symfony, file, code), [""; 0], "{code}");
    }
    // In a function, such a guard is the app's own logic and counts.
    each_names(SuspectKind::Exit, &[("if (!defined('A')) { exit; }", "exit")]);
    assert_eq!(suspects_of_file(AppKind::Script, "public/a.php", "<?php\nexit;"), ["2 exit exit"]);
}

#[test]
fn a_check_of_the_sapi_is_reported_if_requests_reach_it() {
    each_names(
        SuspectKind::Sapi,
        &[
            ("if (PHP_SAPI === 'cli') { exit; }", "PHP_SAPI === 'cli'"),
            ("return 'cli' !== \\PHP_SAPI;", "'cli' !== \\PHP_SAPI"),
            ("return php_sapi_name() == 'cli';", "php_sapi_name() == 'cli'"),
        ],
    );
    none_names_any(&["return PHP_SAPI;", "return ['type' => PHP_SAPI];"]);
}

#[test]
fn settings_of_the_whole_process_are_reported() {
    for (body, kind, what) in [
        ("ini_set('memory_limit', '1G');", SuspectKind::IniSet, "ini_set('memory_limit')"),
        ("\\ini_set($a, $b);", SuspectKind::IniSet, "ini_set()"),
        ("@set_time_limit(0);", SuspectKind::IniSet, "set_time_limit()"),
        ("error_reporting(0);", SuspectKind::IniSet, "error_reporting()"),
        ("libxml_use_internal_errors(true);", SuspectKind::IniSet, "libxml_use_internal_errors()"),
        ("mb_internal_encoding('UTF-8');", SuspectKind::IniSet, "mb_internal_encoding()"),
        ("gc_disable();", SuspectKind::IniSet, "gc_disable()"),
        ("putenv(\"A=$a\");", SuspectKind::Putenv, "putenv()"),
        ("putenv('A=b');", SuspectKind::Putenv, "putenv('A=b')"),
        ("setlocale(LC_ALL, 'de_DE');", SuspectKind::Setlocale, "setlocale()"),
        ("\\Locale::setDefault($a);", SuspectKind::Setlocale, "Locale::setDefault()"),
        (
            "date_default_timezone_set('UTC');",
            SuspectKind::Timezone,
            "date_default_timezone_set('UTC')",
        ),
        ("chdir($a);", SuspectKind::Chdir, "chdir()"),
        ("umask(0);", SuspectKind::Umask, "umask()"),
        ("set_error_handler($a);", SuspectKind::Handler, "set_error_handler()"),
        ("set_exception_handler($a);", SuspectKind::Handler, "set_exception_handler()"),
        ("register_shutdown_function($a);", SuspectKind::Handler, "register_shutdown_function()"),
        ("spl_autoload_register($a);", SuspectKind::Handler, "spl_autoload_register()"),
        ("ob_start(); f();", SuspectKind::OutputBuffer, "ob_start()"),
        ("mt_srand(4);", SuspectKind::Seed, "mt_srand()"),
        ("header('A: b');", SuspectKind::Header, "header('A: b')"),
        ("setcookie('a', $b);", SuspectKind::Header, "setcookie('a')"),
        ("http_response_code(404);", SuspectKind::Header, "http_response_code()"),
        ("session_start();", SuspectKind::Session, "session_start()"),
        ("define('A', $a);", SuspectKind::Constant, "define('A')"),
        ("define('A', 1);", SuspectKind::Constant, "define('A')"),
        ("if (!defined('A')) { define('A', $a); }", SuspectKind::Constant, "define('A')"),
        ("function g() {}", SuspectKind::Redeclared, "g"),
        ("echo $a;", SuspectKind::Output, "echo"),
        ("print $a;", SuspectKind::Output, "echo"),
        ("var_dump($a);", SuspectKind::Output, "var_dump"),
        ("print_r($a);", SuspectKind::Output, "print_r"),
        ("$this->db->beginTransaction(); f();", SuspectKind::Transaction, "beginTransaction()"),
        (
            "$this->db->exec('SET time_zone = \"UTC\"');",
            SuspectKind::DatabaseSession,
            "SET time_zone",
        ),
        (
            "DB::statement(\"SET SESSION sql_mode='$a'\");",
            SuspectKind::DatabaseSession,
            "SET SESSION sql_mode",
        ),
        ("$a->exec('LOCK TABLES t WRITE');", SuspectKind::DatabaseSession, "LOCK TABLES"),
        (
            "$a->exec('PRAGMA foreign_keys = ON');",
            SuspectKind::DatabaseSession,
            "PRAGMA foreign_keys",
        ),
        ("$a->setAttribute(\\PDO::ATTR_CASE, $b);", SuspectKind::DatabaseSession, "PDO::ATTR_CASE"),
    ] {
        let expected = [(kind, what.to_owned())];
        // A nested function is tested below, in a function.
        if kind != SuspectKind::Redeclared {
            assert_eq!(in_method(body), expected, "{body}");
        }
    }
    assert_eq!(
        suspects_of_file(AppKind::Symfony, "src/a.php", "<?php function f() { function g() {} }"),
        ["1 redeclared g @ f"]
    );
}

#[test]
fn settings_that_are_restored_or_only_read_are_not_reported() {
    none_names_any(&[
        "$old = ini_set('a', '1'); try { f(); } finally { ini_set('a', $old); }",
        "$old = ini_get('a'); ini_set('a', '1'); f(); ini_set('a', $old);",
        "ini_get('a');",
        "error_reporting();",
        "$level = error_reporting(0); f(); error_reporting($level);",
        "$was = libxml_use_internal_errors(true); f(); libxml_use_internal_errors($was);",
        "gc_disable(); f(); gc_enable();",
        "setlocale(LC_ALL, 0);",
        "$was = setlocale(LC_ALL, 0); setlocale(LC_ALL, 'C'); f(); setlocale(LC_ALL, $was);",
        "$was = date_default_timezone_get(); date_default_timezone_set($a); date_default_timezone_set($was);",
        "$was = getcwd(); chdir($a); f(); chdir($was);",
        "umask();",
        "$was = umask(0); f(); umask($was);",
        "set_error_handler(fn() => true); try { f(); } finally { restore_error_handler(); }",
        "ob_start(); try { f(); } finally { $b = ob_get_clean(); }",
        "ob_start(); echo $a; return ob_get_clean();",
        "$c = new \\PDO($a); $c->setAttribute(\\PDO::ATTR_ERRMODE, 2); $c->exec('SET NAMES utf8');",
        "$a->exec('PRAGMA foreign_keys');",
        "$a->setAttribute(PDO::ATTR_CASE, 1); f(); $a->setAttribute(PDO::ATTR_CASE, 0);",
        "$a->setAttribute('class', $b);",
        "$f = 'header'; $g = header(...); $this->header('A: b'); Other::ini_set('a', 1);",
        "http_response_code();",
        "new Other(function () { echo 1; });",
        "print_r($a, true); var_export($a, true);",
        "defined('A') || define('A', 1);",
        "if (!function_exists('g')) { function g() {} }",
        "mt_rand(); mt_srand();",
        "$this->db->beginTransaction(); try { $this->db->commit(); } catch (E $e) { $this->db->rollBack(); }",
        "$this->db->exec('SET LOCAL a = 1'); $this->db->query('SELECT 1');",
        "$this->db->exec('SET foreign_key_checks = 0'); f(); $this->db->exec('SET FOREIGN_KEY_CHECKS=1');",
        "$this->db->exec('LOCK TABLES t WRITE'); f(); $this->db->exec('UNLOCK TABLES');",
    ]);
}

#[test]
fn setting_the_same_value_twice_does_not_restore_it() {
    each_names(
        SuspectKind::Timezone,
        &[(
            "if ($a) { date_default_timezone_set($a); } else { date_default_timezone_set($b); }",
            "date_default_timezone_set()",
        )],
    );
}

#[test]
fn two_methods_of_a_class_may_set_and_restore() {
    let code = "<?php class A { function begin() { ob_start(); set_error_handler(fn() => 1); }\n\
                function end() { restore_error_handler(); return ob_get_clean(); } }";
    assert_eq!(suspects_of_file(AppKind::Symfony, "src/A.php", code), [""; 0]);
}

#[test]
fn code_that_runs_when_a_file_is_loaded_runs_at_boot() {
    let code = "<?php ini_set('a', 1); set_error_handler('f'); define('A', 1); umask(2);";
    assert_eq!(suspects_of_file(AppKind::Symfony, "src/a.php", code), [""; 0]);
    assert_eq!(suspects_of_file(AppKind::Callable, "handler.php", code), [""; 0]);
    assert_eq!(suspects_of_file(AppKind::Script, "a.php", code).len(), 3);
}
