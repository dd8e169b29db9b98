//! Measures all cases that a plan spans: sweeps, numbers of CPUs, fronts, loads for some runtimes
//! only, and no warm-up.

use std::time::Duration;

use serde_json::{Value, json};

use crate::common::why::WhyRun;
use crate::common::{
    Sandbox, assert_measured, fact, finish, skipped, stderr, stdout, summary, trials,
};
use crate::words::code_or;

const LIMIT: Duration = Duration::from_secs(90);

fn texts<'a>(rows: &'a [Value], key: &str) -> Vec<&'a str> {
    let mut texts: Vec<&str> = rows.iter().filter_map(|row| row[key].as_str()).collect();
    texts.sort_unstable();
    texts
}

#[test]
#[ignore = "long: 15 s"]
fn a_sweep_of_a_setting_and_of_cpus_gives_a_row_for_each() {
    if skipped(&["nginx", "php-fpm"]) {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.write(
        "plan.yaml",
        "app: hello
budget: {cpus: [1, 2]}
workers: 2
cold: true
runtimes: [{nginx-fpm: {sweep: {memory_limit: [64M, 128M]}}}]
load:
  all: const(50,1s)
  some: {concurrency: 1, for: 500ms, only: [\"nginx-fpm memory_limit=64M\"]}
",
    );
    let planned = finish(sandbox.stampede(&["compare", "plan.yaml", "--dry-run"]), LIMIT);
    assert!(stdout(&planned).contains("nginx-fpm memory_limit=128M cpus=2"), "{planned:?}");
    let output = finish(sandbox.stampede(&["compare", "plan.yaml"]), LIMIT);
    assert_measured(&sandbox, &output);
    let cases = summary(&sandbox)["cases"].as_array().expect("cases").clone();
    let all: Vec<Value> = cases.iter().filter(|case| case["load"] == "all").cloned().collect();
    let names = [
        "nginx-fpm memory_limit=128M cpus=1",
        "nginx-fpm memory_limit=128M cpus=2",
        "nginx-fpm memory_limit=64M cpus=1",
        "nginx-fpm memory_limit=64M cpus=2",
    ];
    assert_eq!(texts(&all, "runtime"), names);
    assert_eq!(cases.len(), 6, "and two of the other load: {cases:#?}");
    for trial in trials(&sandbox) {
        let phases = texts(trial["phases"].as_array().expect("phases"), "phase");
        assert!(!phases.contains(&"warm-up"), "{phases:?}");
        let case = trial["case"].as_u64().expect("a case");
        let record = std::fs::read_to_string(sandbox.run().join("run.json")).expect("run.json");
        let run: Value = serde_json::from_str(&record).expect("JSON");
        let name = run["cases"][case as usize]["runtime"].as_str().expect("a name");
        let limit = if name.contains("64M") { "64M" } else { "128M" };
        assert_eq!(trial["runtime"]["before"]["ini"]["memory_limit"], limit, "{name}");
        // A machine with one CPU gives one, whatever the plan asks for.
        let cpus = std::thread::available_parallelism().expect("CPUs").get().min(2);
        let expected = if name.ends_with("cpus=2") { cpus } else { 1 };
        assert_eq!(trial["budget_cpus"], expected, "{name}");
    }
}

#[test]
#[ignore = "long: 10 s"]
fn a_front_serves_the_same_and_is_part_of_the_stack() {
    if skipped(&["nginx", "apache2", "php"]) {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.write(
        "plan.yaml",
        "app: hello
workers: 2
front: nginx
runtimes: [nginx-fpm, apache-modphp, php-builtin, {bare: {use: apache-modphp, front: none}}]
load: {steady: {concurrency: 2, for: 1s, keep_alive: true}}
warm_up: 200ms
",
    );
    let output = finish(sandbox.stampede(&["compare", "plan.yaml"]), LIMIT);
    assert_measured(&sandbox, &output);
    let cases = summary(&sandbox)["cases"].as_array().expect("cases").clone();
    assert_eq!(texts(&cases, "runtime"), ["apache-modphp", "bare", "nginx-fpm", "php-builtin"]);
    for case in &cases {
        let name = case["runtime"].as_str().expect("a name");
        assert_eq!(case["not_comparable"], serde_json::json!([]), "{name}: {case:#}");
        assert_eq!(case["roles"]["web"].is_object(), name != "bare", "{name}: {}", case["roles"]);
        let title = case["title"].as_str().expect("a title");
        let behind = title.ends_with(", behind nginx");
        assert_eq!(behind, ["apache-modphp", "php-builtin"].contains(&name), "{title}");
    }
    for trial in trials(&sandbox) {
        // The front keeps connections, even if the runtime behind it closes every connection.
        let connections = &trial["load"]["connections"];
        assert_eq!((&connections["opened"], &connections["from_warm_up"]), (&0.into(), &2.into()));
    }
    assert_eq!(sandbox.left_behind(), Vec::<String>::new(), "{}", stderr(&output));
}

#[test]
fn a_runtime_that_closes_every_connection_is_not_measured_with_keep_alive() {
    if skipped(&["php", "nginx", "php-fpm"]) {
        return;
    }
    let sandbox = Sandbox::new();
    let compare = |runtimes: &str| {
        let line = format!("compare --app hello --runtimes {runtimes} --concurrency 1 --for 1s");
        let args: Vec<&str> = line.split(' ').chain(["--keep-alive", "on"]).collect();
        finish(sandbox.stampede(&args), LIMIT)
    };
    let why = "closes every connection after its answer";
    let output = compare("php-builtin");
    assert_eq!(output.status.code(), Some(2), "nothing is left: {}", stderr(&output));
    assert!(stderr(&output).contains(code_or("case", why)), "{}", stderr(&output));
    let output = compare("nginx-fpm,php-builtin");
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stdout(&output).contains(code_or("keep_alive_unfit", why)), "{}", stdout(&output));
}

/// On one CPU, four requests at a time want all of it. With `500m` the kernel stops the stack for
/// the other half of the time, as the plan asks.
#[test]
fn half_a_cpu_is_a_quota_whose_stops_are_expected_and_shown() {
    if skipped(&["nginx", "php-fpm"]) {
        return;
    }
    let plan = "app: cpu
budget: {cpus: [500m, 1]}
workers: 4
warm_up: 500ms
load: {rush: {concurrency: 4, for: 3s, path: '/?ms=10', keep_alive: false}}
runtimes: [nginx-fpm]
";
    if stampede_keeper::cpu_quota_fix().is_some() {
        println!("no CPU quota can be set here: only the refusal is tested");
        let sandbox = Sandbox::new();
        sandbox.write("plan.yaml", plan);
        let output = finish(sandbox.stampede(&["compare", "plan.yaml"]), LIMIT);
        assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
        assert!(stderr(&output).contains("plan.yaml:2:16"), "{}", stderr(&output));
        return;
    }
    let run = WhyRun::of(plan);
    let (half, whole) = (run.case("nginx-fpm cpus=0.5"), run.case("nginx-fpm cpus=1"));
    assert_eq!((&half["budget_cpus"], &whole["budget_cpus"]), (&json!(0.5), &json!(1)));
    for trial in trials(&run.sandbox) {
        let is_half = trial["budget_cpus"] == 0.5;
        let by = trial["isolation"]["cpu_quota"].as_str();
        assert_eq!(by.is_some_and(|by| by.starts_with("cgroup-v")), is_half, "{trial:#}");
        let reasons = &trial["verdict"]["reasons"];
        assert_eq!(fact(reasons, "throttled"), &Value::Null, "its stops are expected: {reasons}");
        assert_eq!(fact(reasons, "cpu_quota_missing"), &Value::Null, "{reasons}");
    }
    let (used_up, _) = run.found("nginx-fpm cpus=0.5", "throttled");
    assert_eq!((&used_up["code"], &used_up["cpus"]), (&json!("quota_used_up"), &json!(0.5)));
    // 50 % on an idle machine. Where other programs take a part of the CPU, the stack is stopped
    // less.
    let share = used_up["share"].as_f64().expect("a share");
    assert!((0.05..0.7).contains(&share), "{used_up}");
    run.silent("nginx-fpm cpus=1", "throttled");
    // However little others leave of the CPU, the half is never exceeded. How many answers the whole one gives
    // beside it depends on them.
    let cost_us = half["cpu_cost_us"]["value"].as_f64().expect("a cost");
    let spent_s = cost_us * half["counts"]["ok"].as_f64().expect("a count") / 1e6;
    assert!((0.1..1.6).contains(&spent_s), "{spent_s} s of CPU time in 3 s with a half");
    let stopped = |row: &Value| row["budget_throttled_ns"].as_u64();
    assert!(run.readings().iter().filter_map(stopped).sum::<u64>() > 0);
    assert_eq!(run.sandbox.left_behind(), Vec::<String>::new());
}
