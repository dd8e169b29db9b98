//! Tests that each path of a load gives the same page on every runtime, or that the row says it
//! does not.

use super::quick::{CompareOutput, compare, run_plan};
use crate::common::{Sandbox, skipped, summary};
use crate::words::code_or;

/// Compares `./shop` on two runtimes; returns what is not comparable, and the output.
fn compared(sandbox: &Sandbox, more: &[&str]) -> (Vec<String>, String) {
    let CompareOutput { code, printed } = compare(sandbox, "nginx-fpm,apache-modphp", more);
    assert!(matches!(code, Some(0 | 3)), "{printed}");
    let summary = summary(sandbox);
    let cases = summary["cases"].as_array().expect("cases");
    let reasons = cases.iter().flat_map(|case| case["not_comparable"].as_array().expect("a list"));
    let texts = reasons.filter_map(|reason| reason["text"].as_str());
    (texts.map(str::to_owned).collect(), printed)
}

fn has_both() -> bool {
    !skipped(&["nginx", "php-fpm", "apache2"])
}

#[test]
#[ignore = "long: 9 s"]
fn another_script_behind_the_same_path_is_not_comparable() {
    if !has_both() {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.write("shop/index.php", "<?php echo PHP_SAPI === 'fpm-fcgi' ? 'front' : 'admin';");
    sandbox.write(
        "shop/plain.php",
        "<?php echo PHP_SAPI === 'fpm-fcgi'
        ? 'short' : 'short' . str_repeat(' long', 20000);",
    );
    sandbox.write(
        "shop/gone.php",
        "<?php if (PHP_SAPI !== 'fpm-fcgi') { http_response_code(404); } echo 'x';",
    );
    sandbox.write(
        "shop/away.php",
        "<?php if (PHP_SAPI !== 'fpm-fcgi') { header('Location: /plain.php'); exit; } echo 'x';",
    );
    sandbox.write(
        "shop/token.php",
        "<?php echo bin2hex(random_bytes(8)), PHP_SAPI === 'fpm-fcgi'
        ? 'installer' : str_repeat('<p>product</p>', 5000);",
    );
    sandbox.write("urls.txt", "/plain.php\n/index.php?a=1\n/gone.php\n/away.php\n/token.php\n");
    let (reasons, printed) = compared(&sandbox, &["--traffic", "urls.txt"]);
    let all = reasons.join("; ");
    assert!(reasons.len() >= 4, "{all}\n{printed}");
    for words in ["`/plain.php` gives 200, ", "`/index.php?a=1` gives 200, 5 B, `"] {
        assert!(all.contains(code_or("page_differs", words)), "{words}: {all}\n{printed}");
    }
    assert!(printed.contains("not comparable"), "{printed}");
    let shown = code_or("page_differs", "`/plain.php` gives");
    assert!(printed.contains(shown), "the difference is shown: {printed}");
}

#[test]
#[ignore = "long: 10 s"]
fn pages_that_change_or_show_where_they_run_are_the_same() {
    if !has_both() {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.write("shop/index.php", "<?php echo '<title>Shop</title>', date('H:i:s'), ' ',
        $_SERVER['HTTP_HOST'], ' ', __DIR__, ' ', bin2hex(random_bytes(16)), str_repeat('x', 9000);");
    sandbox.write("shop/a/b.php", "<?php echo microtime(true), ' ', random_int(1, 9);");
    sandbox.write("urls.txt", "/\n/a/b.php\n/index.php\n");
    let (reasons, printed) = compared(&sandbox, &["--traffic", "urls.txt"]);
    let about_pages = |text: &&String| text.contains(code_or("differs", "gives"));
    let about_pages: Vec<_> = reasons.iter().filter(about_pages).collect();
    assert!(about_pages.is_empty(), "{about_pages:?}\n{printed}");
}

/// A runtime that gets another script is noticed, whatever the method and however slow its pages.
#[test]
#[ignore = "long: 97 s"]
fn another_script_is_seen_for_every_method_and_on_slow_pages() {
    if !has_both() {
        return;
    }
    let sandbox = Sandbox::new();
    let code = "<?php $is_one = PHP_SAPI === 'fpm-fcgi';
        if (strpos($_SERVER['REQUEST_URI'], 'slow')) { usleep(1600000); }
        if ($_SERVER['REQUEST_METHOD'] === 'POST') {
            echo $is_one ? str_repeat('a', 2000) : str_repeat('a', 90000); exit; }
        echo '<title>', $is_one ? 'Front' : 'Admin', '</title>', bin2hex(random_bytes(16)), ' x ', random_int(1, 9);";
    sandbox.write("shop/index.php", code);
    let plan = |load: &str| {
        format!(
            "app: ./shop\nruntimes: [nginx-fpm, apache-modphp]\nrounds: 1\nwarm_up: 0s\nload:\n  main: {{ concurrency: 2, {load} }}\n"
        )
    };
    for (load, code, words) in [
        ("for: 1s, method: HEAD, path: /index.php", "page_differs", "`Admin` instead of"),
        ("for: 1s, method: POST, path: /index.php", "body_size_differs", "on average instead of"),
    ] {
        let CompareOutput { printed, .. } = run_plan(&sandbox, &plan(load));
        assert!(printed.contains(code_or(code, words)), "{load}: {printed}");
        std::fs::remove_dir_all(sandbox.path().join("stampede-results")).expect("results");
    }
    let urls: String = (0..8).map(|number| format!("/index.php?slow={number}\n")).collect();
    sandbox.write("urls.txt", &urls);
    let (reasons, printed) = compared(&sandbox, &["--traffic", "urls.txt"]);
    let shown = code_or("page_differs", "`Admin` instead of");
    assert!(reasons.join("; ").contains(shown), "{reasons:?}\n{printed}");
}
