//! Tests `stampede capacity` from the outside: a real runtime, a real search, and its files on
//! disk.

use std::io::BufRead as _;
use std::process::Output;
use std::time::Duration;

use serde_json::Value;

use crate::common;
use crate::common::{Sandbox, finish, skipped, stderr, stdout};
use crate::words::code_or;

const LIMIT: Duration = Duration::from_secs(150);

fn capacity_json(sandbox: &Sandbox) -> Value {
    let text = std::fs::read_to_string(sandbox.run().join("capacity.json")).expect("capacity.json");
    serde_json::from_str(&text).expect("JSON")
}

fn report(sandbox: &Sandbox, format: &str) -> Output {
    let run = sandbox.run().display().to_string();
    finish(sandbox.stampede(&["report", &run, "--format", format]), LIMIT)
}

#[test]
#[ignore = "long: 46 s"]
fn a_search_of_a_real_runtime_keeps_its_time_limit_and_every_trial() {
    if skipped(&["nginx", "php-fpm"]) {
        return;
    }
    let sandbox = Sandbox::new();
    let args = ["capacity", "nginx-fpm", "--app", "hello", "--workers", "4", "--max-time", "45s"];
    let short = ["--for", "1s", "--warm-up", "200ms", "--seed", "1", "--json"];
    let output = finish(sandbox.stampede(&[&args[..], &short[..]].concat()), LIMIT);
    let (out, err) = (stdout(&output), stderr(&output));
    let found: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}\n{err}"));
    let limit = &found["runtimes"][0];
    // How far the search gets depends on the load of this machine. It must report this either way.
    let code = output.status.code();
    match limit["ending"].as_str().expect("an ending") {
        "found" | "at_least" => assert_eq!(code, Some(0), "{out}"),
        "wide" | "unconfirmed" | "unknown" => assert_eq!(code, Some(3), "{out}"),
        "below" => assert_eq!(code, Some(1), "{out}"),
        other => panic!("{other}: {out}\n{err}"),
    }
    assert_eq!(found["expect"], serde_json::json!(["p95 < 100ms", "ok >= 99.9%"]));
    let points = limit["points"].as_array().expect("points");
    assert_eq!(points[0]["purpose"], "alone", "{limit:#}");
    assert_eq!(points[0]["seen"], "met", "{limit:#}");
    assert!(points.iter().any(|point| point["purpose"] == "probe"), "{limit:#}");
    let spent = limit["spent_s"].as_f64().expect("seconds");
    // The last trial may take longer than the trials before it.
    assert!(spent < 45.0 + 10.0, "{spent} s");
    let trials = std::fs::read_dir(sandbox.run().join("trials")).expect("trials").count();
    assert_eq!(trials, points.len(), "each trial has its directory");

    assert_eq!(capacity_json(&sandbox), found, "what is printed lies on disk");
    let again: Value = serde_json::from_str(&stdout(&report(&sandbox, "json"))).expect("JSON");
    assert_eq!(again, found);
    let text = stdout(&report(&sandbox, "text"));
    assert!(text.contains("nginx-fpm: ") && text.contains("rate/s"), "{text}");
    // In the other formats, the search's trials are an ordinary run.
    assert!(stdout(&report(&sandbox, "csv")).contains("nginx-fpm"), "no row");
    let page = std::fs::read_to_string(sandbox.run().join("capacity.html")).expect("the chart");
    assert!(
        page.contains("<svg") && !page.contains("http://") || page.contains("w3.org"),
        "{page}"
    );
    assert!(
        page.contains("content=\"default-src 'none'; "),
        "a browser runs nothing in it: {page}"
    );
    assert_eq!(sandbox.left_behind(), Vec::<String>::new());
    common::a_newer_format_is_refused(&sandbox, "capacity.json");
}

#[test]
#[ignore = "long: 28 s"]
fn the_limit_of_a_real_runtime_is_named() {
    if skipped(&["nginx", "php-fpm"]) {
        return;
    }
    let sandbox = Sandbox::new();
    // Two workers that wait 10 ms per request: 200/s at most, and the CPU is mostly idle.
    let args = ["capacity", "nginx-fpm", "--app", "sleep", "--workers", "2", "--max-time", "30s"];
    let short = ["--for", "1s", "--warm-up", "200ms", "--seed", "1"];
    let output = finish(sandbox.stampede(&[&args[..], &short[..]].concat()), LIMIT);
    let out = stdout(&output);
    let busy = code_or("all_workers_busy", "worker-bound: all 2 workers were busy");
    assert!(out.contains(&format!("limited by: {busy}")), "{out}{}", stderr(&output));
    let found = capacity_json(&sandbox);
    let points = found["runtimes"][0]["points"].as_array().expect("points");
    let names = |point: &&Value| point["held_back"]["cause"] == "workers";
    assert!(points.iter().any(|point| names(&point)), "{found:#}");
    for point in points.iter().filter(|point| point["seen"] == "met") {
        assert_eq!(point["held_back"], Value::Null, "nothing held it back: {point:#}");
    }
}

#[test]
fn an_expectation_that_fails_for_a_single_user_ends_the_search() {
    if skipped(&["nginx", "php-fpm"]) {
        return;
    }
    let sandbox = Sandbox::new();
    let args = ["capacity", "nginx-fpm", "--app", "hello", "--workers", "2", "--for", "1s"];
    let expect = ["--warm-up", "200ms", "--expect", "p95 < 1us"];
    let output = finish(sandbox.stampede(&[&args[..], &expect[..]].concat()), LIMIT);
    let out = stdout(&output);
    assert_eq!(output.status.code(), Some(1), "{out}{}", stderr(&output));
    let found = capacity_json(&sandbox);
    let result = &found["runtimes"][0]["said"];
    assert_eq!(result["code"], "not_met_alone", "{result:#}");
    let reason = &result["reasons"][0];
    assert_eq!((&reason["code"], &reason["found"]["unit"]), (&"not_met".into(), &"ns".into()));
    assert!(out.contains(result["text"].as_str().expect("a sentence")), "{out}");
    assert_eq!(found["runtimes"][0]["points"].as_array().map(Vec::len), Some(2), "{found:#}");
    assert_eq!(found["runtimes"][0]["capacity_per_second"], Value::Null);
}

#[test]
fn ctrl_c_keeps_what_was_measured() {
    if skipped(&["nginx", "php-fpm"]) {
        return;
    }
    let sandbox = Sandbox::new();
    let args = ["capacity", "nginx-fpm", "--app", "hello", "--workers", "2", "--for", "1s"];
    let mut child = sandbox
        .stampede(&[&args[..], &["--warm-up", "200ms"][..]].concat())
        .spawn()
        .expect("the binary starts");
    let mut lines = std::io::BufReader::new(child.stderr.take().expect("stderr")).lines();
    let third = lines.by_ref().flatten().find(|line| line.starts_with("3 "));
    assert!(third.is_some(), "no third trial");
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("a signal");
    let rest: Vec<String> = lines.map_while(Result::ok).collect();
    let output = child.wait_with_output().expect("its output");
    let out = stdout(&output);
    assert_eq!(output.status.code(), Some(3), "{out}{rest:?}");
    assert!(out.contains("ended early: what was measured so far"), "{out}");
    let found = capacity_json(&sandbox);
    assert_eq!(found["interrupted"], true);
    assert!(found["runtimes"][0]["points"].as_array().expect("points").len() >= 3, "{found:#}");
    assert_eq!(sandbox.left_behind(), Vec::<String>::new());
}

#[test]
fn an_impossible_search_is_refused_before_anything_starts() {
    let sandbox = Sandbox::new();
    let refused = |args: &[&str]| {
        let all = [&["capacity", "nginx-fpm", "--app", "hello"], args].concat();
        let output = finish(sandbox.stampede(&all), LIMIT);
        assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
        stderr(&output)
    };
    if !skipped(&["nginx", "php-fpm"]) {
        let message = refused(&["--expect", "throughput >= 100"]);
        let why = code_or("demands_throughput", "says how much, and that is what is searched for");
        assert!(message.contains(why), "{message}");
        let message = refused(&["--cpus", "1,2"]);
        let why = code_or("several_cpu_counts", "several numbers of CPUs");
        assert!(message.contains(why), "{message}");
    }
    let hint = code_or("hint: unusable_precision", "hint: from 1% to 50%");
    assert!(refused(&["--precision", "0%"]).contains(hint));
    let why = code_or("unusable_length", "--max-time soon");
    assert!(refused(&["--max-time", "soon"]).contains(why));
    assert!(!sandbox.path().join("stampede-results").exists());
}

#[test]
fn the_schemas_in_the_docs_match_the_printed_ones() {
    let sandbox = Sandbox::new();
    for of in ["capacity", "check", "tune", "facts"] {
        let output = finish(sandbox.stampede(&["schema", of]), LIMIT);
        let path = format!("{}/../../docs/{of}.schema.json", env!("CARGO_MANIFEST_DIR"));
        let written = std::fs::read_to_string(&path).expect("a schema in docs/");
        let again = format!("write it again: stampede schema {of} > docs/{of}.schema.json");
        assert_eq!(written, stdout(&output), "{again}");
    }
}

/// On any machine, one load thread is at its limit before ten million answers a second are.
#[test]
#[ignore = "long: 29 s"]
fn a_server_that_never_fails_has_at_least_the_capacity_of_the_generator() {
    let null = stampede_known_server::NullServer::start().expect("a null server");
    let sandbox = Sandbox::new();
    sandbox.write("app/app.yaml", "title: it\nkind: script\ndocroot: public\n");
    sandbox.write("app/public/index.php", "<?php");
    let plan = format!(
        "app: ./app\nload: {{rush: {{rate: 1, for: 1s}}}}\nruntimes: [{{external: {{url: 'http://{}'}}}}]\n",
        null.address()
    );
    sandbox.write("plan.yaml", &plan);
    let short = ["--for", "1s", "--warm-up", "0s", "--max-time", "30s", "--json"];
    let output =
        finish(sandbox.stampede(&[&["capacity", "plan.yaml"], &short[..]].concat()), LIMIT);
    let out = stdout(&output);
    let found: Value = serde_json::from_str(&out).expect("JSON");
    let limit = &found["runtimes"][0];
    let ending = limit["ending"].as_str().expect("an ending");
    // A server that shares its CPU with other tests may itself become slow first.
    if ending == "at_least" {
        assert_eq!(output.status.code(), Some(0), "{out}");
        assert_eq!(limit["said"]["code"], "at_least", "{out}");
        assert_eq!(limit["upper_per_second"], Value::Null, "{out}");
    } else {
        println!("SKIPPED: on this machine the server failed first: {}", limit["said"]["text"]);
    }
    let seen = |what| limit["points"].as_array().expect("points").iter().any(|p| p["seen"] == what);
    assert!(seen("met") && (seen("generator") || seen("missed")), "{out}");
}

#[test]
fn a_search_that_runs_out_of_time_reports_and_stores_its_results() {
    if skipped(&["nginx", "php-fpm"]) {
        return;
    }
    let sandbox = Sandbox::new();
    let args = ["capacity", "nginx-fpm", "--app", "hello", "--workers", "2", "--max-time", "10s"];
    let output = finish(sandbox.stampede(&[&args[..], &["--json"]].concat()), LIMIT);
    let found: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    let limit = &found["runtimes"][0];
    assert_eq!(output.status.code(), Some(3), "{found:#}");
    assert!(matches!(limit["ending"].as_str(), Some("unknown" | "wide")), "{limit:#}");
    let code = limit["said"]["code"].as_str();
    assert!(matches!(code, Some("met_alone" | "wide" | "unknown")), "{limit:#}");
    assert!(!limit["points"].as_array().expect("points").is_empty());
    assert_eq!(capacity_json(&sandbox), found);
}

/// The acceptance test of the search, for a quiet machine: `cargo test --release --test capacity --
/// --ignored --nocapture`.
#[test]
#[ignore = "alone: 5 min"]
fn an_independent_load_confirms_the_capacity() {
    let sandbox = Sandbox::new();
    let output = finish(
        sandbox.stampede(&["capacity", "nginx-fpm", "--app", "hello", "--json"]),
        Duration::from_secs(300),
    );
    let found: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    println!("{}", found["runtimes"][0]["said"]);
    // On an unsteady machine the interval stays wide, and must be true all the same.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{found:#}");
    let capacity = found["runtimes"][0]["capacity_per_second"].as_f64().expect("a capacity");
    let upper = match &found["runtimes"][0]["ending"] {
        // Found to the requested precision: 120 % of the capacity lies above the interval.
        ending if ending == "found" => capacity,
        _ => found["runtimes"][0]["upper_per_second"].as_f64().unwrap_or(capacity),
    };
    common::confirm(&sandbox, &["nginx-fpm", "--app", "hello"], capacity, upper);
}
