//! Tests of the page of a check.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::html;
use crate::model::CheckReport;

/// Returns a report with one of everything, as in `check.json`.
fn everything() -> Value {
    json!({
        "format": 1, "stampede": "0.1.0", "name": "20261122-170225-swift-otter",
        "started_at": "2026-11-22T17:02:25+00:00", "app": "/srv/my shop", "kind": "symfony",
        "reference": "nginx-fpm", "seed": 6_351_846, "interrupted": true,
        "tried": {
            "requests": 12, "sent": 1_440, "passes": ["in order", "reversed"], "users": 2,
            "growth_requests": 20_000, "seconds": 61.4,
        },
        "skipped": [{"request": "GET /logout", "why": "it ends a session: `--skip` has no say"}],
        "runtimes": [
            {
                "runtime": "roadrunner", "verdict": {"is": "not-safe"}, "workers_lost": 3,
                "sent": 480, "passes": 2, "growth_sent": 0, "not_again": 0, "problem": null, "growth": [growth("heap", 508.0, true)],
                "findings": [leak(1), accepted(2), state(3)],
            },
            {
                "runtime": "frankenphp-worker", "verdict": {"is": "not-safe"}, "workers_lost": 0,
                "sent": 480, "passes": 2, "growth_sent": 0, "not_again": 0, "problem": null, "growth": [growth("descriptors", 5.0, false)],
                "findings": [leak(4)],
            },
            {
                "runtime": "swoole", "verdict": {"is": "safe-with", "max_requests": 1_000},
                "workers_lost": 0, "sent": 480, "passes": 2, "growth_sent": 0, "not_again": 0, "problem": null, "growth": [], "findings": [],
            },
            {
                "runtime": "openswoole", "verdict": {"is": "not-checked"}, "workers_lost": 0,
                "sent": 0, "passes": 0, "growth_sent": 0, "not_again": 0, "problem": "it did not start", "growth": [], "findings": [],
            },
        ],
        "code": {
            "files": 40, "suspects_left_out": 7,
            "unread": [{"file": "src/Odd.php", "line": 9, "why": "what stands here was not understood"}],
            "suspects": [
                suspect("global", "src/Visitor.php", 14, "$GLOBALS['user']"),
                suspect("exit", "src/Thanks.php", 8, "exit"),
                suspect("exit", "src/Sorry.php", 31, "die"),
            ],
        },
    })
}

fn leak(number: u32) -> Value {
    let step = |user: u32, target: &str| {
        let asked = json!({"method": "GET", "target": target, "headers": [], "body": ""});
        json!({"user": user, "request": asked})
    };
    json!({
        "number": number, "kind": "leak", "about": "GET /account", "is_repeatable": true,
        "what": "the answer to GET /account shows user A what belongs to user B: the cookie `shop`",
        "evidence": "  - You are stmpdA\n  + You are stmpdB\n    <nav>",
        "steps": [step(1, "/account?user={user}"), step(0, "/account")],
        "places": [{"file": "src/Visitor.php", "line": 14, "what": "$GLOBALS['user']"}],
        "fingerprint": format!("{number} leak get /account"), "is_accepted": false,
    })
}

fn accepted(number: u32) -> Value {
    json!({
        "number": number, "kind": "death", "about": "GET /thanks", "is_repeatable": true,
        "what": "GET /thanks ends the worker", "evidence": "", "steps": [], "places": [],
        "fingerprint": "roadrunner death get /thanks", "is_accepted": true,
    })
}

fn state(number: u32) -> Value {
    let post = json!({
        "method": "POST", "target": "/de", "headers": [["Accept-Language", "de"]],
        "body": "name={user}",
    });
    json!({
        "number": number, "kind": "state", "about": "locale", "is_repeatable": false,
        "what": "after POST /de the worker has another locale", "evidence": "  locale: `C` → `de_DE`",
        "steps": vec![json!({"user": 1, "request": post}); 11], "places": [],
        "fingerprint": "roadrunner state locale", "is_accepted": false,
    })
}

fn growth(of: &str, begin: f64, grows: bool) -> Value {
    let rate = if grows { 8.0 } else { 0.0 };
    json!({
        "of": of, "requests": 20_000, "begin": begin, "end": begin + rate * 20_000.0,
        "per_request": rate, "per_request_low": rate * 0.9, "per_request_high": rate * 1.1,
        "grows": grows, "max_requests": grows.then_some(1_000),
    })
}

fn suspect(kind: &str, file: &str, line: u32, what: &str) -> Value {
    json!({"kind": kind, "file": file, "line": line, "what": what, "within": "App\\Visitor::greet"})
}

fn page(report: Value) -> String {
    html(
        &CheckReport::read(report).expect("a report"),
        "stampede check --of stampede-results/swift-otter",
    )
}

/// Appends `with` to every string that is not one of a few fixed words.
fn planted(value: Value, with: &str) -> Value {
    let fixed = ["kind", "of", "is"];
    match value {
        Value::String(text) => Value::String(text + with),
        Value::Array(all) => all.into_iter().map(|one| planted(one, with)).collect(),
        Value::Object(all) => {
            let is_fixed = |name: &str, value: &Value| {
                // The app's kind is a string like any other; a finding's kind is not.
                fixed.contains(&name) && *value != "symfony"
            };
            let of = |(name, value): (String, Value)| match is_fixed(&name, &value) {
                true => (name, value),
                false => (name, planted(value, with)),
            };
            Value::Object(all.into_iter().map(of).collect())
        }
        other => other,
    }
}

/// Returns the characters at which tags, comments and attribute values begin or end.
fn skeleton(page: &str) -> String {
    let body = page.split_once("<body>").expect("a body").1;
    body.chars().filter(|c| "<>\"".contains(*c)).collect()
}

#[cfg_attr(feature = "codes-for-text", ignore = "reads sentences")]
#[test]
fn it_says_all_there_is() {
    let page = page(everything());
    let (_, body) = page.split_once("</head>").expect("a head");
    insta::assert_snapshot!(body);
}

#[test]
fn text_of_the_app_is_never_markup() {
    let plain = skeleton(&page(planted(everything(), "xx")));
    for evil in
        ["<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "'--><svg/onload=x>"]
    {
        let page = page(planted(everything(), evil));
        for raw in ["<script", "<img", "<svg", "-->", "\"><img"] {
            assert!(!page.contains(raw), "{raw} of {evil}");
        }
    }
    let page = page(planted(everything(), "<script>"));
    let seen = page.matches("&lt;script&gt;").count();
    assert!(seen > 60, "it is shown as text: {seen} times");
    assert_eq!(skeleton(&page), plain);
}

proptest! {
    #[test]
    fn text_of_the_app_never_changes_the_elements_of_the_page(text in r#"x[<>"'&a-z/=! \u{0}\u{202e}-]{0,24}"#) {
        let plain = page(planted(everything(), "x"));
        prop_assert_eq!(skeleton(&page(planted(everything(), &text))), skeleton(&plain));
    }
}

#[test]
fn secrets_are_masked_as_in_the_json() {
    let secret = " DB_PASSWORD=hunter2hunter2";
    let page = page(planted(everything(), secret));
    assert!(!page.contains("hunter2"), "a secret is in the page");
    assert!(page.matches("DB_PASSWORD=***").count() > 60);
}

#[test]
fn the_page_loads_nothing_from_elsewhere() {
    let page = page(everything());
    for outside in ["http://", "https://", "url(", "@import", "src=", "<link", "style=\""] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn an_empty_check_claims_nothing() {
    let mut report = everything();
    for (name, empty) in
        [("runtimes", json!([])), ("skipped", json!([])), ("interrupted", json!(false))]
    {
        report[name] = empty;
    }
    let page = page(report);
    assert!(page.contains("this check cannot prove that the app is safe"));
    for missing in ["What was found", "Growth", "What was not sent", "Ended early"] {
        assert!(!page.contains(&format!("<h2>{missing}")), "{missing}");
    }
}

#[test]
fn a_finding_of_two_runtimes_is_listed_once() {
    let page = page(everything());
    assert_eq!(page.matches("<p class=\"what\">the answer to GET /account").count(), 1);
    for words in [
        "id=\"finding-1\"",
        "id=\"finding-4\"",
        "--finding 4<span class=\"faint\">  # frankenphp-worker",
    ] {
        assert!(page.contains(words), "{words}");
    }
}

/// Both pages belong to one tool.
#[test]
fn colours_are_those_of_the_report() {
    let base = include_str!("../../../../report-ui/src/base.css");
    let colours = super::STYLE.lines().map(str::trim).filter(|line| line.starts_with("--"));
    let colours: Vec<&str> = colours.collect();
    assert!(colours.len() > 30);
    for colour in colours {
        assert!(base.contains(colour), "{colour}");
    }
}
