//! Tests pages that end in a PHP error or have no body, but have status 200.

use super::quick::{CompareOutput, compare, run_plan};
use crate::common::{Sandbox, reasons_of_the_app, skipped, trials};
use crate::words::code_or;

/// The exit code and the output of `compare` for an app with this code, and its first verdict.
fn compared(runtime: &str, code: &str, more: &[&str]) -> (Option<i32>, String, serde_json::Value) {
    let sandbox = Sandbox::new();
    sandbox.write("shop/public/index.php", code);
    let CompareOutput { code, printed } = compare(&sandbox, runtime, more);
    (code, printed, trials(&sandbox)[0]["verdict"].clone())
}

/// Code that counts requests, for apps that fail after some of them.
const COUNT: &str =
    "$file = sys_get_temp_dir() . '/count'; $count = (int) @file_get_contents($file);
    file_put_contents($file, (string) ++$count);";

#[test]
#[ignore = "long: 13 s"]
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
            let (status, printed, verdict) = compared(runtime, &code, &[]);
            assert!(matches!(status, Some(2 | 3)), "{runtime}, {error}: {printed}");
            assert_eq!(verdict["judged"], "invalid", "{runtime}, {error}: {printed}");
            let why = code_or("php_error_before_load", "Fatal error: ");
            assert!(printed.contains(why), "{printed}");
            let why = code_or("php_error_before_load", "index.php");
            assert!(printed.contains(why), "the place is named: {printed}");
        }
        let code =
            "<?php echo str_repeat('<p>product</p>', 1000); require __DIR__ . '/broken.php';";
        let sandbox = Sandbox::new();
        sandbox.write("shop/public/index.php", code);
        sandbox.write("shop/public/broken.php", "<?php function {");
        let CompareOutput { printed, .. } = compare(&sandbox, runtime, &[]);
        assert!(printed.contains(code_or("INVALID", "Parse error")), "{runtime}: {printed}");
        assert_eq!(trials(&sandbox)[0]["verdict"]["judged"], "invalid", "{runtime}: {printed}");
    }
}

#[test]
#[ignore = "long: 18 s"]
fn a_fatal_error_that_begins_under_load_makes_the_trial_invalid() {
    if skipped(&["php", "nginx", "php-fpm"]) {
        return;
    }
    for runtime in ["php-builtin", "nginx-fpm"] {
        let code = format!(
            "<?php {COUNT} echo str_repeat('<p>product</p>', 1000);
             if ($count > 40 && $count % 10 === 0) {{ not_there(); }} echo 'rest';"
        );
        let (status, printed, verdict) = compared(runtime, &code, &[]);
        assert_eq!(status, Some(3), "{runtime}: {printed}");
        assert_eq!(verdict["judged"], "invalid", "{runtime}: {printed}");
        let words = "Call to undefined function not_there()";
        assert!(verdict.to_string().contains(words), "{runtime}: {printed}");
        assert!(printed.contains(code_or("php_errors", words)), "{runtime}: {printed}");
    }
}

#[test]
fn an_error_that_the_app_shows_instead_of_logging_is_seen() {
    if skipped(&["php"]) {
        return;
    }
    let code = "<?php ini_set('log_errors', '0'); ini_set('display_errors', '1');
        echo '<p>product</p>'; not_there();";
    let (status, printed, verdict) = compared("php-builtin", code, &[]);
    assert!(matches!(status, Some(2 | 3)), "{printed}");
    assert_eq!(verdict["judged"], "invalid", "{printed}");
    assert!(
        printed.contains(code_or("page_fails", "Call to undefined function not_there()")),
        "{printed}"
    );
}

#[test]
#[ignore = "long: 23 s"]
fn a_body_that_goes_missing_under_load_is_a_failure() {
    if skipped(&["php"]) {
        return;
    }
    let code = format!("<?php {COUNT} if ($count < 40) {{ echo 'a page'; }}");
    let (status, printed, verdict) = compared("php-builtin", &code, &[]);
    assert_eq!(status, Some(3), "{printed}");
    assert_eq!(verdict["judged"], "invalid", "{printed}");
    let code =
        format!("<?php {COUNT} if ($count < 40 || $count % 2) {{ echo 'a page ', $count; }}");
    let (_, printed, _) = compared("php-builtin", &code, &[]);
    assert!(printed.contains("check:size"), "half of the answers are empty: {printed}");
}

#[test]
fn warnings_and_pages_about_errors_are_fine() {
    if skipped(&["php"]) {
        return;
    }
    let code =
        "<?php echo 'PHP Fatal error: how to read it'; error_log('just a note'); echo $undefined;";
    let (status, printed, verdict) = compared("php-builtin", code, &[]);
    assert_eq!(status, Some(0), "{printed}");
    assert_eq!(reasons_of_the_app(&verdict), Vec::<&serde_json::Value>::new(), "{printed}");
}

/// An app may make PHP log its errors to any file.
#[test]
#[ignore = "long: 18 s"]
fn an_error_that_is_logged_elsewhere_is_seen() {
    if skipped(&["php"]) {
        return;
    }
    for file in ["sys_get_temp_dir() . '/app-php.log'", "__DIR__ . '/error_log'"] {
        let sandbox = Sandbox::new();
        let code = format!(
            "<?php ini_set('error_log', {file}); {COUNT} echo str_repeat('<p>product</p>', 1000);
             if ($count > 40 && $count % 2) {{ not_there(); }} echo 'rest';"
        );
        sandbox.write("shop/public/index.php", &code);
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        std::fs::set_permissions(sandbox.path().join("shop/public"), open).expect("open for all");
        sandbox.write(
            "shop/app.yaml",
            "title: shop\nkind: script\ndocroot: public\nwritable: [public]\n",
        );
        let CompareOutput { printed, .. } = compare(&sandbox, "php-builtin", &[]);
        assert_eq!(trials(&sandbox)[0]["verdict"]["judged"], "invalid", "{file}: {printed}");
        let why = code_or("php_errors", "Call to undefined function not_there()");
        assert!(printed.contains(why), "{file}: {printed}");
    }
}

/// A page that is always empty must not hide that others lose their body.
#[test]
fn a_body_that_goes_missing_is_seen_beside_an_empty_page() {
    if skipped(&["php"]) {
        return;
    }
    let sandbox = Sandbox::new();
    let code = format!(
        "<?php if ($_SERVER['REQUEST_URI'] === '/ping') {{ exit; }}
         {COUNT} if ($count < 40 || $count % 2) {{ echo 'a page'; }}"
    );
    sandbox.write("shop/public/index.php", &code);
    sandbox.write("urls.txt", "/\n/ping\n");
    let CompareOutput { printed, .. } =
        compare(&sandbox, "php-builtin", &["--traffic", "urls.txt"]);
    let failed = &trials(&sandbox)[0]["load"]["counts"]["failed"];
    assert!(failed["check:size > 0"].as_u64() > Some(0), "{failed}: {printed}");
    let ok = trials(&sandbox)[0]["load"]["counts"]["ok"].as_u64();
    assert!(ok > failed["check:size > 0"].as_u64(), "/ping is fine: {printed}");
}

/// Messages that do not end a script cost time, so they are said.
#[test]
fn messages_that_php_logs_for_each_request_are_counted() {
    if skipped(&["php"]) {
        return;
    }
    let code = "<?php echo 'ok'; echo $first; echo $second;";
    let (_, printed, verdict) = compared("php-builtin", code, &[]);
    let notes = verdict["notes"].as_array().expect("notes");
    let said = notes.iter().find(|note| note["code"] == "php_messages").expect(&printed);
    let per_request = said["per_request"].as_f64().expect("a number");
    assert!((1.9..=2.1).contains(&per_request), "{per_request}: {printed}");
    assert!(said["first"].to_string().contains("Undefined variable $first"), "{said}");
    assert!(printed.contains(code_or("php_messages", "per request")), "{printed}");
}

/// An overloaded app may say so in a short page with status 200.
#[test]
#[ignore = "long: 12 s"]
fn pages_of_another_length_than_before_the_load_make_a_trial_suspect() {
    if skipped(&["php"]) {
        return;
    }
    let code = format!(
        "<?php {COUNT} echo $count < 40 || $count % 2 ? str_repeat('<p>product</p>', 100) : 'busy';"
    );
    let (_, printed, verdict) = compared("php-builtin", &code, &[]);
    assert_eq!(verdict["judged"], "suspect", "{printed}");
    let reasons = verdict["reasons"].as_array().expect("reasons");
    let said = reasons.iter().find(|reason| reason["code"] == "unusual_lengths").expect(&printed);
    assert_eq!((&said["first"], &said["body_bytes"]), (&"GET /".into(), &4.into()), "{said}");
    let sandbox = Sandbox::new();
    sandbox.write("shop/public/index.php", &code);
    let plan = "app: ./shop\nruntimes: [php-builtin]\nrounds: 1\nwarm_up: 0s\nload:\n  - \
                {concurrency: 1, for: 2s, path: '/?a=1', changing: /}\n";
    let CompareOutput { printed, .. } = run_plan(&sandbox, plan);
    // A busy machine may give other reasons.
    let reasons = trials(&sandbox)[0]["verdict"]["reasons"].to_string();
    assert!(!reasons.contains("unusual_lengths"), "{reasons}: {printed}");
}

/// A table that says that requests failed says which.
#[test]
fn the_first_failed_request_of_a_kind_is_named() {
    if skipped(&["php"]) {
        return;
    }
    let sandbox = Sandbox::new();
    let code = format!(
        "<?php {COUNT} if ($count > 40 && str_starts_with($_SERVER['REQUEST_URI'], '/pay')) {{
           http_response_code(503); }} echo 'page';"
    );
    sandbox.write("shop/public/index.php", &code);
    sandbox.write("urls.txt", "/\n/about\n/pay?token=hunter2hunter2&step=2\n");
    let CompareOutput { printed, .. } =
        compare(&sandbox, "php-builtin", &["--traffic", "urls.txt"]);
    let verdict = &trials(&sandbox)[0]["verdict"];
    let notes = verdict["notes"].as_array().expect("notes");
    let said = notes.iter().find(|note| note["code"] == "requests_failed").expect(&printed);
    let first = said["first"].as_str().expect("a request");
    assert!(first.starts_with("GET /pay?token=") && first.ends_with("&step=2"), "{said}");
    assert!(!printed.contains("hunter2"), "{printed}");
    assert_eq!(said["kind"], "http:503", "{said}");
    assert!(printed.contains(code_or("requests_failed", "GET /pay")), "{printed}");
}
