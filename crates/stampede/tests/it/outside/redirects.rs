//! Tests apps whose `/` redirects, and loads whose requests are all redirected.

use std::time::{Duration, Instant};

use super::quick::{self, CompareOutput};
use crate::common::{Sandbox, skipped, summary, trials};
use crate::words::code_or;

/// Runs `compare` on `./shop` with more arguments; returns exit code, output and duration.
fn compare(sandbox: &Sandbox, more: &[&str]) -> (Option<i32>, String, Duration) {
    let begun = Instant::now();
    let rounds = ["--rounds", "2"];
    let CompareOutput { code, printed } =
        quick::compare(sandbox, "php-builtin", &[&rounds[..], more].concat());
    (code, printed, begun.elapsed())
}

fn shop(sandbox: &Sandbox, code: &str) {
    sandbox.write("shop/public/index.php", code);
}

const TO_ENGLISH: &str = "<?php $path = strtok($_SERVER['REQUEST_URI'], '?');
    if ($path === '/') { header('Location: /en/', true, 302); exit; }
    if ($path === '/account') { header('Location: /login?to=account'); exit; }
    echo '<title>', $path, '</title>';";

#[test]
fn an_app_whose_first_page_redirects_is_measured_where_it_leads() {
    if skipped(&["php"]) {
        return;
    }
    let sandbox = Sandbox::new();
    shop(&sandbox, TO_ENGLISH);
    let (code, printed, _) = compare(&sandbox, &[]);
    assert_eq!(code, Some(0), "{printed}");
    assert!(printed.contains(code_or("redirected", "`/` redirects to `/en/` (302)")), "{printed}");
    let counts = &summary(&sandbox)["cases"][0]["counts"];
    assert!(
        counts["ok"].as_u64() > Some(0)
            && counts["failed"].as_object().is_none_or(|map| map.is_empty()),
        "{counts}"
    );
    assert_eq!(trials(&sandbox)[0]["runtime"]["before"]["pages"][0]["title"], "/en/");
}

#[test]
#[ignore = "long: 35 s"]
fn a_path_is_measured_though_the_first_page_redirects_elsewhere() {
    if skipped(&["php"]) {
        return;
    }
    for to in ["https://shop.test/", "http://shop.test/", "/", "//other.test/en"] {
        let sandbox = Sandbox::new();
        let code = format!(
            "<?php if ($_SERVER['REQUEST_URI'] === '/') {{ header('Location: {to}'); exit; }} echo 'fine';"
        );
        shop(&sandbox, &code);
        let (code, printed, _) = compare(&sandbox, &["--path", "/page"]);
        assert_eq!(code, Some(0), "{to}: {printed}");
    }
}

#[test]
fn a_load_that_is_only_redirected_is_no_measurement() {
    if skipped(&["php"]) {
        return;
    }
    let sandbox = Sandbox::new();
    shop(&sandbox, TO_ENGLISH);
    let (code, printed, took) = compare(&sandbox, &["--path", "/account"]);
    assert_eq!(code, Some(3), "{printed}");
    let why = code_or("page_redirects", "`/account` is redirected (302) to `/login?to=account`");
    assert!(printed.contains(why), "{printed}");
    assert_eq!(trials(&sandbox).len(), 1, "it is not tried again: {printed}");
    assert!(took < Duration::from_secs(30), "{took:?}");
}

#[test]
fn a_cold_load_that_is_only_redirected_is_none_either() {
    if skipped(&["php"]) {
        return;
    }
    let sandbox = Sandbox::new();
    shop(&sandbox, TO_ENGLISH);
    let plan = |path: &str| {
        format!(
            "app: ./shop\nruntimes: [php-builtin]\nrounds: 1\ncold: true\nload:\n  \
             main: {{ concurrency: 1, for: 1s{path} }}\n"
        )
    };
    for (path, wanted) in [(", path: /account", Some(3)), ("", Some(0))] {
        let CompareOutput { code, printed } = quick::run_plan(&sandbox, &plan(path));
        assert_eq!(code, wanted, "{path}: {printed}");
    }
}

#[test]
#[ignore = "long: 14 s"]
fn an_app_that_wants_https_or_its_own_host_says_so_at_once() {
    if skipped(&["php"]) {
        return;
    }
    for (to, words) in [
        ("https://localhost/", "the app wants HTTPS"),
        ("https://shop.test/", "`--host shop.test --https`"),
        ("http://shop.test/", "`--host shop.test`"),
        ("/", "it leads in a circle"),
        ("deeper/", "again and again"),
    ] {
        let sandbox = Sandbox::new();
        shop(&sandbox, &format!("<?php header('Location: {to}', true, 301);"));
        let (code, printed, _) = compare(&sandbox, &[]);
        assert_eq!(code, Some(3), "{to}: {printed}");
        assert!(printed.contains(code_or("INVALID", words)), "{to}: {printed}");
        assert!(printed.contains(code_or("INVALID", &format!("to `{to}`"))), "{to}: {printed}");
        assert_eq!(trials(&sandbox).len(), 1, "{to}: it is not tried again: {printed}");
    }
}

#[test]
fn a_host_that_the_load_sends_is_sent_before_it_too() {
    if skipped(&["php"]) {
        return;
    }
    let sandbox = Sandbox::new();
    let code = "<?php if ($_SERVER['HTTP_HOST'] !== 'shop.test') {
            header('Location: http://shop.test' . $_SERVER['REQUEST_URI'], true, 301); exit; }
        echo 'the shop';";
    shop(&sandbox, code);
    let plan = "app: ./shop\nruntimes: [php-builtin]\nrounds: 1\nwarm_up: 0s\nload:\n  \
                main: { concurrency: 1, for: 1s, path: /, headers: { Host: shop.test } }\n";
    let CompareOutput { code, printed } = quick::run_plan(&sandbox, plan);
    assert_eq!(code, Some(0), "{printed}");
}

/// If an app is measured only by requests that write, it need not have a first page.
#[test]
fn an_api_without_a_first_page_is_measured() {
    if skipped(&["php"]) {
        return;
    }
    let sandbox = Sandbox::new();
    let code = "<?php if ($_SERVER['REQUEST_METHOD'] !== 'POST') { http_response_code(404); exit; }
        echo file_get_contents('php://input');";
    shop(&sandbox, code);
    let plan = "app: ./shop\nruntimes: [php-builtin]\nrounds: 1\nwarm_up: 0s\nload:\n  main: { concurrency: 1, \
                for: 1s, method: POST, path: /api/x, body: hello, headers: { Content-Type: text/plain } }\n";
    let CompareOutput { code, printed } = quick::run_plan(&sandbox, plan);
    assert_eq!(code, Some(0), "{printed}");
}

#[test]
#[ignore = "long: 12 s"]
fn a_permanent_mistake_is_not_retried() {
    if skipped(&["php"]) {
        return;
    }
    for status in [500, 404, 403, 401, 502, 503, 504] {
        let sandbox = Sandbox::new();
        shop(&sandbox, &format!("<?php http_response_code({status}); echo 'closed today';"));
        let (code, printed, took) = compare(&sandbox, &[]);
        assert_eq!(code, Some(2), "{status}: {printed}");
        assert!(printed.contains(code_or("wrong_page", "closed today")), "{status}: {printed}");
        assert_eq!(trials(&sandbox).len(), 1, "{status}: {printed}");
        assert!(took < Duration::from_secs(30), "{status}: {took:?}");
    }
}
