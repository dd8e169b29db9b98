//! Tests apps whose `/` redirects, and loads whose requests are all redirected.

use std::time::{Duration, Instant};

use crate::common::{Place, skipped, summary, trials};
use crate::quick::{self, Compared};
use crate::words::says;

/// Runs `compare` on `./shop` with more arguments; returns exit code, output and duration.
fn compare(place: &Place, more: &[&str]) -> (Option<i32>, String, Duration) {
    let begun = Instant::now();
    let rounds = ["--rounds", "2"];
    let Compared { code, said } =
        quick::compare(place, "php-builtin", &[&rounds[..], more].concat());
    (code, said, begun.elapsed())
}

fn shop(place: &Place, code: &str) {
    place.write("shop/public/index.php", code);
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
    let place = Place::new();
    shop(&place, TO_ENGLISH);
    let (code, said, _) = compare(&place, &[]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains(says("redirected", "`/` redirects to `/en/` (302)")), "{said}");
    let counts = &summary(&place)["cases"][0]["counts"];
    assert!(
        counts["ok"].as_u64() > Some(0)
            && counts["failed"].as_object().is_none_or(|map| map.is_empty()),
        "{counts}"
    );
    assert_eq!(trials(&place)[0]["runtime"]["before"]["pages"][0]["title"], "/en/");
}

#[test]
fn a_path_is_measured_though_the_first_page_redirects_elsewhere() {
    if skipped(&["php"]) {
        return;
    }
    for to in ["https://shop.test/", "http://shop.test/", "/", "//other.test/en"] {
        let place = Place::new();
        let code = format!(
            "<?php if ($_SERVER['REQUEST_URI'] === '/') {{ header('Location: {to}'); exit; }} echo 'fine';"
        );
        shop(&place, &code);
        let (code, said, _) = compare(&place, &["--path", "/page"]);
        assert_eq!(code, Some(0), "{to}: {said}");
    }
}

#[test]
fn a_load_that_is_only_redirected_is_no_measurement() {
    if skipped(&["php"]) {
        return;
    }
    let place = Place::new();
    shop(&place, TO_ENGLISH);
    let (code, said, took) = compare(&place, &["--path", "/account"]);
    assert_eq!(code, Some(3), "{said}");
    let why = says("page_redirects", "`/account` is redirected (302) to `/login?to=account`");
    assert!(said.contains(why), "{said}");
    assert_eq!(trials(&place).len(), 1, "it is not tried again: {said}");
    assert!(took < Duration::from_secs(30), "{took:?}");
}

#[test]
fn a_cold_load_that_is_only_redirected_is_none_either() {
    if skipped(&["php"]) {
        return;
    }
    let place = Place::new();
    shop(&place, TO_ENGLISH);
    let plan = |path: &str| {
        format!(
            "app: ./shop\nruntimes: [php-builtin]\nrounds: 1\ncold: true\nload:\n  \
             main: {{ concurrency: 1, for: 1s{path} }}\n"
        )
    };
    for (path, wanted) in [(", path: /account", Some(3)), ("", Some(0))] {
        let Compared { code, said } = quick::run_plan(&place, &plan(path));
        assert_eq!(code, wanted, "{path}: {said}");
    }
}

#[test]
fn an_app_that_wants_https_or_its_own_host_says_so_at_once() {
    if skipped(&["php"]) {
        return;
    }
    for (to, words) in [
        ("https://localhost/", "the app wants HTTPS"),
        ("https://shop.test/", "`Host: shop.test`"),
        ("http://shop.test/", "`Host: shop.test`"),
        ("/", "it leads in a circle"),
        ("deeper/", "again and again"),
    ] {
        let place = Place::new();
        shop(&place, &format!("<?php header('Location: {to}', true, 301);"));
        let (code, said, _) = compare(&place, &[]);
        assert_eq!(code, Some(3), "{to}: {said}");
        assert!(said.contains(says("INVALID", words)), "{to}: {said}");
        assert!(said.contains(says("INVALID", &format!("to `{to}`"))), "{to}: {said}");
        assert_eq!(trials(&place).len(), 1, "{to}: it is not tried again: {said}");
    }
}

#[test]
fn a_host_that_the_load_sends_is_sent_before_it_too() {
    if skipped(&["php"]) {
        return;
    }
    let place = Place::new();
    let code = "<?php if ($_SERVER['HTTP_HOST'] !== 'shop.test') {
            header('Location: http://shop.test' . $_SERVER['REQUEST_URI'], true, 301); exit; }
        echo 'the shop';";
    shop(&place, code);
    let plan = "app: ./shop\nruntimes: [php-builtin]\nrounds: 1\nwarm_up: 0s\nload:\n  \
                main: { concurrency: 1, for: 1s, path: /, headers: { Host: shop.test } }\n";
    let Compared { code, said } = quick::run_plan(&place, plan);
    assert_eq!(code, Some(0), "{said}");
}

/// If an app is measured only by requests that write, it need not have a first page.
#[test]
fn an_api_without_a_first_page_is_measured() {
    if skipped(&["php"]) {
        return;
    }
    let place = Place::new();
    let code = "<?php if ($_SERVER['REQUEST_METHOD'] !== 'POST') { http_response_code(404); exit; }
        echo file_get_contents('php://input');";
    shop(&place, code);
    let plan = "app: ./shop\nruntimes: [php-builtin]\nrounds: 1\nwarm_up: 0s\nload:\n  main: { concurrency: 1, \
                for: 1s, method: POST, path: /api/x, body: hello, headers: { Content-Type: text/plain } }\n";
    let Compared { code, said } = quick::run_plan(&place, plan);
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn what_cannot_change_is_not_tried_again() {
    if skipped(&["php"]) {
        return;
    }
    for status in [500, 404, 403, 401, 502, 503, 504] {
        let place = Place::new();
        shop(&place, &format!("<?php http_response_code({status}); echo 'closed today';"));
        let (code, said, took) = compare(&place, &[]);
        assert_eq!(code, Some(2), "{status}: {said}");
        assert!(said.contains(says("wrong_page", "closed today")), "{status}: {said}");
        assert_eq!(trials(&place).len(), 1, "{status}: {said}");
        assert!(took < Duration::from_secs(30), "{status}: {took:?}");
    }
}
