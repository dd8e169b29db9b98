//! Tests `stampede tune` from the outside.

use std::time::Duration;

use serde_json::Value;

use crate::common;
use crate::common::{Sandbox, finish, skipped, stderr, stdout};
use crate::words::code_or;

const LIMIT: Duration = Duration::from_secs(150);

#[test]
#[ignore = "long: 21 s"]
fn workers_that_cannot_keep_the_rate_lose_and_the_best_settings_can_be_copied() {
    if skipped(&["nginx", "php-fpm"]) {
        return;
    }
    let sandbox = Sandbox::new();
    // One worker that sleeps 10 ms per request cannot serve 150 requests a second.
    let args = ["tune", "nginx-fpm", "--app", "sleep", "--set", "workers=1,8", "--rate", "150"];
    let short = ["--for", "1s", "--warm-up", "200ms", "--seed", "1"];
    let output = finish(sandbox.stampede(&[&args[..], &short[..]].concat()), LIMIT);
    let (out, err) = (stdout(&output), stderr(&output));
    assert_eq!(output.status.code(), Some(0), "{out}{err}");
    assert!(out.contains(code_or("best_p95", "best: workers=8, p95 ")), "{out}");
    assert!(out.lines().any(|line| line.replace(' ', "") == "pm.max_children=8"), "{out}");

    let run = sandbox.run();
    let text = std::fs::read_to_string(run.join("tune.json")).expect("tune.json");
    let found: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(found["best"], serde_json::json!({"workers": "8"}));
    assert_eq!(found["points"].as_array().map(Vec::len), Some(2), "{found:#}");
    assert!(found["points"][1]["waiting_share"].as_f64().expect("a share") > 0.3, "{found:#}");
    let lines = found["lines"].as_array().expect("lines");
    assert!(
        lines.iter().all(|line| !line["text"].as_str().expect("text").contains("/tmp")),
        "{lines:?}"
    );

    let again = sandbox.stampede(&["report", &run.display().to_string()]);
    assert_eq!(stdout(&finish(again, LIMIT)).lines().next(), out.lines().next());
    assert_eq!(sandbox.left_behind(), Vec::<String>::new());
    common::a_newer_format_is_refused(&sandbox, "tune.json");
}

#[test]
fn impossible_tuning_is_refused_before_anything_starts() {
    let sandbox = Sandbox::new();
    let refused = |args: &[&str]| {
        let all = [&["tune", "nginx-fpm", "--app", "hello"], args].concat();
        let output = finish(sandbox.stampede(&all), LIMIT);
        assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
        stderr(&output)
    };
    let why = code_or("setting_error", "does not name two values or more");
    assert!(refused(&["--set", "workers=8"]).contains(why));
    let why = code_or("setting_error", "not a range of whole numbers");
    assert!(refused(&["--set", "workers=9..2"]).contains(why));
    let hint = code_or("hint: unusable_rate", "hint: requests per second");
    assert!(refused(&["--rate", "many"]).contains(hint));
    if !skipped(&["nginx", "php-fpm"]) {
        let message = refused(&["--set", "wrokers=2..8"]);
        assert!(message.contains(code_or("set", "wrokers")), "{message}");
        let message = refused(&["--set", "pm=static,sometimes"]);
        assert!(message.contains(code_or("set", "sometimes")), "{message}");
    }
    assert!(!sandbox.path().join("stampede-results").exists());
}

#[test]
#[ignore = "alone: 1 min"]
fn each_at_its_best_is_tuned_first_and_compared_with_what_was_found() {
    if skipped(&["nginx", "php-fpm", "apache2"]) {
        return;
    }
    let sandbox = Sandbox::new();
    let plan = "app: sleep
workers: 3
fairness: each-at-its-best
warm_up: 1s
load: {rush: {concurrency: 4, for: 5s}}
runtimes: [nginx-fpm, apache-modphp]
";
    sandbox.write("plan.yaml", plan);
    sandbox.write("taken/file", "");
    let compare = ["compare", "plan.yaml", "--time-scale", "0.1", "--out"];
    let output = finish(sandbox.stampede(&[&compare[..], &["taken"]].concat()), LIMIT);
    let refused = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{refused}");
    assert!(!sandbox.path().join("stampede-results").exists(), "said before anything is tuned");

    let output = finish(sandbox.stampede(&[&compare[..], &["out"]].concat()), LIMIT * 2);
    let text = stdout(&output);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{text}{}", stderr(&output));
    let run = std::fs::read_to_string(sandbox.path().join("out/run.json")).expect("run.json");
    let run: Value = serde_json::from_str(&run).expect("JSON");
    let notices = run["notices"].as_array().expect("notices");
    for runtime in ["nginx-fpm", "apache-modphp"] {
        let is_it = |notice: &&Value| notice["code"] == "tuned" && notice["runtime"] == runtime;
        let tuned = notices.iter().find(is_it).unwrap_or_else(|| panic!("{notices:#?}\n{text}"));
        let workers = tuned["workers"].to_string();
        let trials =
            std::fs::read_dir(sandbox.path().join("out/trials")).expect("trials").flatten();
        let of_runtime = trials.map(|trial| trial.path().join("trial.json")).find_map(|path| {
            let trial: Value = serde_json::from_str(&std::fs::read_to_string(path).ok()?).ok()?;
            (trial["runtime"]["settings"]["workers"].to_string().as_str() == workers)
                .then_some(trial)
        });
        assert!(of_runtime.is_some(), "{runtime} is compared with {workers} workers");
    }
}

/// The acceptance test of `tune`, for a quiet machine: `cargo test --release --test tune --
/// --ignored --nocapture`.
#[test]
#[ignore = "alone: 6 min"]
fn an_independent_load_confirms_the_best_settings() {
    let sandbox = Sandbox::new();
    let output = finish(
        sandbox.stampede(&["tune", "nginx-fpm", "--app", "sleep", "--max-time", "5m", "--json"]),
        Duration::from_secs(600),
    );
    let found: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    println!("{}", found["said"]);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{found:#}");
    let best = &found["best"];
    let points = found["points"].as_array().expect("points");
    let point = points.iter().find(|point| &point["settings"] == best).expect("the best");
    let (low, high) = (point["low"].as_f64(), point["high"].as_f64());
    let workers = best["workers"].as_str().expect("workers");
    let low = low.expect("a capacity");
    let up = ["nginx-fpm", "--app", "sleep", "--workers", workers];
    common::confirm(&sandbox, &up, low, high.unwrap_or(low));
}
