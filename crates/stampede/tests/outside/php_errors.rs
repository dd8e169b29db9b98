//! Tests pages that end in a PHP error or have no body, but have status 200.

use crate::common::{Place, skipped, trials};
use crate::quick::{Compared, compare};
use crate::words::says;

/// The exit code and the output of `compare` for an app with this code, and its first verdict.
fn compared(runtime: &str, code: &str, more: &[&str]) -> (Option<i32>, String, serde_json::Value) {
    let place = Place::new();
    place.write("shop/public/index.php", code);
    let Compared { code, said } = compare(&place, runtime, more);
    (code, said, trials(&place)[0]["verdict"].clone())
}

/// Code that counts requests, for apps that fail after some of them.
const COUNT: &str =
    "$file = sys_get_temp_dir() . '/count'; $count = (int) @file_get_contents($file);
    file_put_contents($file, (string) ++$count);";

#[test]
fn a_page_that_always_ends_in_a_fatal_error_is_not_measured() {
    if skipped(&["php", "nginx", "php-fpm"]) {
        return;
    }
    for runtime in ["php-builtin", "nginx-fpm"] {
        for error in
            ["not_there();", "throw new RuntimeException('broken');", "require 'none.php';"]
        {
            let code =
                format!("<?php echo str_repeat('<p>product</p>', 1000); {error} echo 'rest';");
            let (status, said, verdict) = compared(runtime, &code, &[]);
            assert!(matches!(status, Some(2 | 3)), "{runtime}, {error}: {said}");
            assert_eq!(verdict["judged"], "invalid", "{runtime}, {error}: {said}");
            let why = says("php_error_before_load", "Fatal error: ");
            assert!(said.contains(why), "{said}");
            let why = says("php_error_before_load", "index.php");
            assert!(said.contains(why), "the place is named: {said}");
        }
        let code =
            "<?php echo str_repeat('<p>product</p>', 1000); require __DIR__ . '/broken.php';";
        let place = Place::new();
        place.write("shop/public/index.php", code);
        place.write("shop/public/broken.php", "<?php function {");
        let Compared { said, .. } = compare(&place, runtime, &[]);
        assert!(said.contains(says("INVALID", "Parse error")), "{runtime}: {said}");
        assert_eq!(trials(&place)[0]["verdict"]["judged"], "invalid", "{runtime}: {said}");
    }
}

#[test]
fn a_fatal_error_that_begins_under_load_makes_the_trial_invalid() {
    if skipped(&["php", "nginx", "php-fpm"]) {
        return;
    }
    for runtime in ["php-builtin", "nginx-fpm"] {
        let code = format!(
            "<?php {COUNT} echo str_repeat('<p>product</p>', 1000);
             if ($count > 40 && $count % 10 === 0) {{ not_there(); }} echo 'rest';"
        );
        let (status, said, verdict) = compared(runtime, &code, &[]);
        assert_eq!(status, Some(3), "{runtime}: {said}");
        assert_eq!(verdict["judged"], "invalid", "{runtime}: {said}");
        let words = "Call to undefined function not_there()";
        assert!(verdict.to_string().contains(words), "{runtime}: {said}");
        assert!(said.contains(says("php_errors", words)), "{runtime}: {said}");
    }
}

#[test]
fn an_error_that_the_app_shows_instead_of_logging_is_seen() {
    if skipped(&["php"]) {
        return;
    }
    let code = "<?php ini_set('log_errors', '0'); ini_set('display_errors', '1');
        echo '<p>product</p>'; not_there();";
    let (status, said, verdict) = compared("php-builtin", code, &[]);
    assert!(matches!(status, Some(2 | 3)), "{said}");
    assert_eq!(verdict["judged"], "invalid", "{said}");
    assert!(said.contains(says("page_fails", "Call to undefined function not_there()")), "{said}");
}

#[test]
fn a_body_that_goes_missing_under_load_is_a_failure() {
    if skipped(&["php"]) {
        return;
    }
    let code = format!("<?php {COUNT} if ($count < 40) {{ echo 'a page'; }}");
    let (status, said, verdict) = compared("php-builtin", &code, &[]);
    assert_eq!(status, Some(3), "{said}");
    assert_eq!(verdict["judged"], "invalid", "{said}");
    let code =
        format!("<?php {COUNT} if ($count < 40 || $count % 2) {{ echo 'a page ', $count; }}");
    let (_, said, _) = compared("php-builtin", &code, &[]);
    assert!(said.contains("check:size"), "half of the answers are empty: {said}");
}

#[test]
fn warnings_and_pages_about_errors_are_fine() {
    if skipped(&["php"]) {
        return;
    }
    let code =
        "<?php echo 'PHP Fatal error: how to read it'; error_log('just a note'); echo $undefined;";
    let (status, said, verdict) = compared("php-builtin", code, &[]);
    assert_eq!((status, &verdict["judged"]), (Some(0), &"valid".into()), "{said}");
}

/// An app may make PHP log its errors to any file.
#[test]
fn an_error_that_is_logged_elsewhere_is_seen() {
    if skipped(&["php"]) {
        return;
    }
    for file in ["sys_get_temp_dir() . '/app-php.log'", "__DIR__ . '/error_log'"] {
        let place = Place::new();
        let code = format!(
            "<?php ini_set('error_log', {file}); {COUNT} echo str_repeat('<p>product</p>', 1000);
             if ($count > 40 && $count % 2) {{ not_there(); }} echo 'rest';"
        );
        place.write("shop/public/index.php", &code);
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        std::fs::set_permissions(place.path().join("shop/public"), open).expect("open for all");
        place.write(
            "shop/app.yaml",
            "title: shop\nkind: script\ndocroot: public\nwritable: [public]\n",
        );
        let Compared { said, .. } = compare(&place, "php-builtin", &[]);
        assert_eq!(trials(&place)[0]["verdict"]["judged"], "invalid", "{file}: {said}");
        let why = says("php_errors", "Call to undefined function not_there()");
        assert!(said.contains(why), "{file}: {said}");
    }
}

/// A page that is always empty must not hide that others lose their body.
#[test]
fn a_body_that_goes_missing_is_seen_beside_an_empty_page() {
    if skipped(&["php"]) {
        return;
    }
    let place = Place::new();
    let code = format!(
        "<?php if ($_SERVER['REQUEST_URI'] === '/ping') {{ exit; }}
         {COUNT} if ($count < 40 || $count % 2) {{ echo 'a page'; }}"
    );
    place.write("shop/public/index.php", &code);
    place.write("urls.txt", "/\n/ping\n");
    let Compared { said, .. } = compare(&place, "php-builtin", &["--traffic", "urls.txt"]);
    let failed = &trials(&place)[0]["load"]["counts"]["failed"];
    assert!(failed["check:size > 0"].as_u64() > Some(0), "{failed}: {said}");
    let ok = trials(&place)[0]["load"]["counts"]["ok"].as_u64();
    assert!(ok > failed["check:size > 0"].as_u64(), "/ping is fine: {said}");
}
