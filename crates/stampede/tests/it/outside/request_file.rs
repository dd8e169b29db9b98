//! Tests that a comparison sends what an access log or a recording has, and says what it left out.

use serde_json::Value;

use super::quick::{CompareOutput, compare};
use crate::common::{Sandbox, skipped, summary};
use crate::words::code_or;

/// An app that knows `/` and `/cart`, and says how it was asked.
fn shop(sandbox: &Sandbox) {
    sandbox.write(
        "shop/public/index.php",
        "<?php $path = strtok($_SERVER['REQUEST_URI'], '?');
        http_response_code(in_array($path, ['/', '/cart']) ? 200 : 404);
        echo '<title>', $path, '</title>', $_SERVER['REQUEST_METHOD'],
            str_repeat(' word', in_array($path, ['/', '/cart']) ? 300 : 3);",
    );
}

fn line(request: &str, status: u16) -> String {
    format!("::1 - - [10/Jan/2024:10:20:30 +0000] \"{request} HTTP/1.1\" {status} 5 \"-\" \"-\"\n")
}

/// The notice about the request file.
fn notice(summary: &Value) -> &Value {
    let notices = summary["notices"].as_array().expect("notices");
    notices
        .iter()
        .find(|one| one["code"] == "request_file")
        .unwrap_or_else(|| panic!("{summary:#}"))
}

#[test]
fn an_access_log_is_compared() {
    if skipped(&["php", "nginx", "php-fpm"]) {
        return;
    }
    let sandbox = Sandbox::new();
    shop(&sandbox);
    let log = [
        line("GET /", 200),
        line("POST /cart", 302),
        line("GET /cart?id=7", 200),
        line("GET /old", 404),
        "2024/01/10 10:20:30 [error] 7#7: *1 open() failed\n".to_owned(),
    ];
    sandbox.write("access.log", &log.concat());
    let flags = ["--traffic", "access.log", "--log-errors", "drop"];
    let CompareOutput { code, printed } = compare(&sandbox, "php-builtin,nginx-fpm", &flags);
    assert_eq!(code, Some(0), "{printed}");
    let summary = summary(&sandbox);
    let notice = notice(&summary);
    assert_eq!(
        (&notice["requests"], &notice["sent"], &notice["every"]),
        (&2.into(), &2.into(), &1.into())
    );
    let left_out: u64 = notice["skipped"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|one| one["entries"].as_u64())
        .sum();
    assert_eq!(left_out, 3, "{notice:#}");
    assert!(!printed.contains("failed requests"), "{printed}");
    assert!(printed.contains("/cart?id=7"), "both pages are named: {printed}");
}

#[test]
#[ignore = "long: 9 s"]
fn pages_that_neither_runtime_has_are_no_difference_and_no_baseline_is_offered() {
    if skipped(&["nginx", "php-fpm", "apache2"]) {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.write("shop/index.php", "<?php echo 'shop', str_repeat(' word', 300);");
    let gone: String = (0..20).map(|page| line(&format!("GET /gone{page}.php"), 404)).collect();
    sandbox.write("access.log", &(line("GET /", 200) + &gone));
    let flags = ["--traffic", "access.log"];
    let CompareOutput { code, printed } = compare(&sandbox, "nginx-fpm,apache-modphp", &flags);
    assert!(matches!(code, Some(0 | 3)), "{printed}");
    let summary = summary(&sandbox);
    for case in summary["cases"].as_array().expect("cases") {
        assert_eq!(case["not_comparable"], Value::Array(Vec::new()), "{printed}");
    }
    assert!(!printed.contains("chooses another one"), "{printed}");
    assert!(printed.contains(code_or("requests_failed", "/gone0.php")), "{printed}");
}
