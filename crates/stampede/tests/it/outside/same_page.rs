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

/// The first lines that differ are shown and kept, so that a reader sees at once what it is.
#[test]
#[ignore = "long: 12 s"]
fn the_lines_that_differ_are_shown() {
    if !has_both() {
        return;
    }
    let sandbox = Sandbox::new();
    let online = "<?php $n = PHP_SAPI === 'fpm-fcgi' ? 3 : 4;
        header('Content-Language: ' . ($n === 3 ? 'en' : 'de'));
        echo \"<html><title>Shop</title>\\n<p>Users online: $n</p>\\n<p>password=geheim99</p>\";";
    sandbox.write("shop/index.php", online);
    sandbox.write("shop/same.php", "<?php echo 'the same';");
    sandbox.write("urls.txt", "/index.php\n/same.php\n");
    let (reasons, printed) = compared(&sandbox, &["--traffic", "urls.txt"]);
    assert_eq!(reasons.len(), 1, "{reasons:?}\n{printed}");
    let cases = summary(&sandbox)["cases"].clone();
    let differing = cases.as_array().expect("cases").iter().find_map(|case| {
        let reason = case["not_comparable"].get(0)?;
        Some((reason["code"].clone(), reason["lines"].clone()))
    });
    let (code, lines) = differing.expect("a difference");
    assert_eq!(code, "page_differs");
    let lines: Vec<&str> =
        lines.as_array().expect("lines").iter().filter_map(|one| one.as_str()).collect();
    for pair in [
        ["<p>Users online: 3</p>", "<p>Users online: 4</p>"],
        ["content-language: en", "content-language: de"],
    ] {
        let is_there = |sign: &str, text: &str| lines.contains(&format!("{sign} {text}").as_str());
        let either = (is_there("-", pair[0]) && is_there("+", pair[1]))
            || (is_there("-", pair[1]) && is_there("+", pair[0]));
        assert!(either, "{pair:?}: {lines:?}");
    }
    for text in ["Users online: 3", "Users online: 4"] {
        assert!(printed.contains(text), "{printed}");
    }
    let run = sandbox.run();
    let page = std::fs::read_to_string(run.join("report.html")).expect("a report");
    assert!(page.contains("Users online: 3"), "the page of the report has the lines");
    let kept = std::fs::read_dir(run.join("trials")).expect("trials").filter_map(|trial| {
        std::fs::read_to_string(trial.expect("a trial").path().join("pages.ndjson")).ok()
    });
    let kept: Vec<String> = kept.collect();
    assert_eq!(kept.len(), 2, "each runtime is asked once");
    assert!(
        kept.iter().all(|text| text.contains("the same") && !text.contains("geheim99")),
        "{kept:?}"
    );
}

/// A random part leaves out its own place, not the page.
#[test]
#[ignore = "long: 12 s"]
fn of_a_page_with_a_random_part_the_rest_is_compared() {
    if !has_both() {
        return;
    }
    let sandbox = Sandbox::new();
    let page = |rest: &str| {
        format!(
            "<?php $is_one = PHP_SAPI === 'fpm-fcgi'; $n = random_int(1000, 9999); \
             echo \"<html><title>Shop</title>\\n<p>visit $n</p>\\n<p>\", {rest}, '</p>';"
        )
    };
    sandbox.write("shop/index.php", &page("'the same'"));
    sandbox.write("shop/other.php", &page("$is_one ? 'front' : 'admin'"));
    sandbox.write("urls.txt", "/index.php\n/other.php\n");
    let (reasons, printed) = compared(&sandbox, &["--traffic", "urls.txt"]);
    assert_eq!(reasons.len(), 1, "{reasons:?}\n{printed}");
    let shown = code_or("page_differs", "`/other.php` gives another answer");
    assert!(reasons[0].contains(shown), "{reasons:?}\n{printed}");
    for line in ["<p>front</p>", "<p>admin</p>"] {
        assert!(printed.contains(line), "{line}: {printed}");
    }
}

/// Pages are asked on a start of their own, once a run: a measured start gets the load and the app's own
/// page, nothing else.
#[test]
#[ignore = "long: 20 s"]
fn pages_are_asked_once_a_run_and_never_on_a_measured_start() {
    if !has_both() {
        return;
    }
    let sandbox = Sandbox::new();
    let hits = sandbox.path().join("hits.log");
    std::fs::write(&hits, "").expect("written");
    let everyone = std::os::unix::fs::PermissionsExt::from_mode(0o666);
    std::fs::set_permissions(&hits, everyone).expect("permitted");
    let code = format!(
        "<?php $uri = $_SERVER['REQUEST_URI']; echo 'page of ', $uri;
        file_put_contents('{}', $uri . \"\\n\", FILE_APPEND | LOCK_EX);",
        hits.display()
    );
    sandbox.write("shop/index.php", &code);
    for (settings, rounds) in [("", 3), ("cold: true\n", 2), ("starts: per-round\n", 2)] {
        std::fs::write(&hits, "").expect("written");
        let warm_up = if settings.starts_with("cold") { "" } else { "warm_up: 0s\n" };
        let plan = format!(
            "app: ./shop\nruntimes: [nginx-fpm]\nrounds: {rounds}\n{warm_up}{settings}load:\n\
             \x20 main: {{ concurrency: 1, requests: 10, traffic: [{{path: /a}}, {{path: /b}}] }}\n\
             \x20 more: {{ concurrency: 1, requests: 10, traffic: [{{path: /b}}, {{path: /c}}] }}\n"
        );
        let CompareOutput { printed, .. } = run_plan(&sandbox, &plan);
        let log = std::fs::read_to_string(&hits).expect("hits");
        let of = |path: &str| log.lines().filter(|line| *line == path).count();
        // `/a` comes first in a load, so it is also the page by which a start is known to be ready.
        let (b, c) = (of("/b"), of("/c"));
        let loads = rounds * 5;
        assert!((loads + 2..=loads + 3).contains(&c), "{settings}: {c} × /c\n{printed}");
        assert!(b > loads * 2, "{settings}: {b} × /b");
        let phases = crate::common::trials(&sandbox).into_iter().map(|trial| {
            let names = trial["phases"].as_array().expect("phases").clone();
            names.iter().filter(|phase| phase["phase"] == "start").count()
        });
        let starts: usize = phases.sum();
        let measured = if settings.starts_with("starts") { rounds } else { 2 * rounds };
        let looks = if settings.starts_with("cold") { measured } else { 1 };
        assert_eq!(starts, measured + looks, "{settings}\n{printed}");
        std::fs::remove_dir_all(sandbox.path().join("stampede-results")).expect("results");
    }
}
