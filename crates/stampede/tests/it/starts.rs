//! Starts that serve all loads of a round, comparisons that end in time, and the readings of a
//! trial. Tests of `make test`.

use std::time::Duration;

use serde_json::Value;

use crate::common::{Sandbox, assert_measured, fact, finish, skipped, stderr, stdout, trials};
use crate::words::CODES;

const LIMIT: Duration = Duration::from_secs(120);

fn phases(trial: &Value) -> Vec<&str> {
    let phases = trial["phases"].as_array().expect("phases");
    phases.iter().map(|phase| phase["phase"].as_str().expect("a name")).collect()
}

#[test]
#[ignore = "long: 24 s"]
fn loads_share_the_start_of_a_round() {
    if skipped(&["php"]) {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.write("app/app.yaml", "title: it\nkind: script\ndocroot: public\n");
    sandbox.write("app/public/index.php", "<?php echo 'fine';");
    sandbox.write(
        "plan.yaml",
        "app: ./app\nstarts: per-round\nrounds: 2\nrepeat_invalid: 0\nwarm_up: 100ms\nworkers: 2\n\
         load:\n  one: {concurrency: 1, for: 300ms}\n  two: {rate: 50, for: 300ms}\n\
         runtimes: [php-builtin, {again: {use: php-builtin, workers: 1}}]\n",
    );
    let output = finish(sandbox.stampede(&["compare", "plan.yaml", "--json"]), LIMIT);
    assert_measured(&sandbox, &output);
    let summary: Value = serde_json::from_str(&stdout(&output)).expect("a summary");
    assert_eq!(
        fact(&summary["notices"], "start_shared")["loads"],
        serde_json::json!(["one", "two"])
    );
    let mut trials = trials(&sandbox);
    trials.sort_by_key(|trial| trial["number"].as_u64());
    assert_eq!(trials.len(), 8, "2 runtimes, 2 loads, 2 rounds");
    // A busy machine makes a trial invalid, and after that one the runtime is started again.
    let is_valid = |pair: &&[Value]| pair[0]["verdict"]["judged"] != "invalid";
    for pair in trials.chunks(2).filter(is_valid) {
        let [first, second] = pair else { panic!("a pair") };
        let is_first_load = |trial: &Value| trial["case"].as_u64().expect("a case") < 2;
        assert!(is_first_load(first) && !is_first_load(second), "in the plan's order");
        assert_eq!((&first["continues"], &second["continues"]), (&Value::Null, &first["number"]));
        // Once a run the pages of both loads are asked, on a start that measures nothing.
        let all = phases(first);
        let own = if first["round"] == 1 { &["start", "verify", "stop"][..] } else { &[] };
        let measured = ["start", "verify", "warm-up", "measure", "drain", "verify"];
        assert_eq!(all, [own, &measured[..]].concat());
        assert_eq!(
            phases(second),
            ["verify", "warm-up", "measure", "drain", "verify", "stop"],
            "the second neither starts nor leaves it running"
        );
        assert!(first["runtime"]["first_answer_ns"].as_u64() > Some(0));
        assert_eq!(second["runtime"]["first_answer_ns"], 0, "nobody measured it");
        assert_eq!(first["exits"], serde_json::json!([]), "it runs on");
        assert_ne!(second["exits"], serde_json::json!([]));
    }
}

#[test]
fn a_cold_start_serves_one_load() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "plan.yaml",
        "app: hello\ncold: true\nstarts: per-round\nload: const(5,1s)\nruntimes: [php-builtin]\n",
    );
    let output = finish(sandbox.stampede(&["compare", "plan.yaml", "--dry-run"]), LIMIT);
    assert_eq!(output.status.code(), Some(2));
    let said = stderr(&output);
    assert!(said.contains("`cold`") && said.contains("`starts`") && said.contains(":3:"), "{said}");
}

fn dry(sandbox: &Sandbox, flags: &[&str]) -> Value {
    let arguments = [&["compare", "--dry-run", "--json"], flags].concat();
    let output = finish(sandbox.stampede(&arguments), LIMIT);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    serde_json::from_str(&stdout(&output)).expect("JSON")
}

#[test]
fn a_first_impression_takes_a_minute() {
    if skipped(&["php", "nginx", "php-fpm"]) {
        return;
    }
    let sandbox = Sandbox::new();
    let flags = ["--quick", "--app", "hello", "--runtimes", "nginx-fpm,php-builtin,apache-modphp"];
    let planned = dry(&sandbox, &flags);
    let seconds = planned["expected_ns"].as_f64().expect("a length") / 1e9;
    // The peak is measured before.
    assert!((20.0..52.0).contains(&seconds), "{seconds}");
    assert_eq!(planned["run"]["rounds"], 1);
    assert_eq!(planned["run"]["starts"], "per-round");
    for code in ["first_impression", "time_scale", "start_shared"] {
        assert_ne!(fact(&planned["run"]["notices"], code), &Value::Null, "{code}");
    }

    // However many runtimes there are, a load is long enough to say something.
    let many: Vec<String> = (0..40).map(|n| format!("r{n}: {{use: php-builtin}}")).collect();
    let plan = format!("app: hello\nload: const(5,30s)\nruntimes: [{{{}}}]\n", many.join("}, {"));
    sandbox.write("many.yaml", &plan);
    let planned = dry(&sandbox, &["many.yaml", "--quick"]);
    let length = planned["run"]["cases"][0]["schedule"].to_string();
    let scale = fact(&planned["run"]["notices"], "time_scale")["scale"].as_f64().expect("a scale");
    assert!((0.03..0.04).contains(&scale), "{scale}: 1 s of 30 s: {length}");
}

#[test]
fn a_comparison_ends_within_the_time_that_is_given() {
    if skipped(&["php"]) {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.write(
        "plan.yaml",
        "app: hello\nrounds: 2\nwarm_up: 5s\nload: const(20,30s)\nruntimes: [php-builtin]\n",
    );
    let expected = |flags: &[&str]| {
        let planned = dry(&sandbox, &[&["plan.yaml"], flags].concat());
        planned["expected_ns"].as_f64().expect("a length") / 1e9
    };
    assert!(expected(&[]) > 70.0);
    assert!((70.0..80.0).contains(&expected(&["--within", "10m"])), "nothing is made longer");
    let short = expected(&["--within", "20s"]);
    assert!((12.0..20.0).contains(&short), "{short}");
    for wrong in ["soon", "10 minuets", "-5s"] {
        let within = format!("--within={wrong}");
        let output =
            finish(sandbox.stampede(&["compare", "plan.yaml", "--dry-run", &within]), LIMIT);
        assert_eq!(output.status.code(), Some(2), "{wrong}");
        assert!(CODES || stderr(&output).contains(wrong), "{}", stderr(&output));
    }
}

/// What the stack spent for the last answers is in the last reading, which is shorter than the others.
#[test]
fn the_readings_of_a_trial_cover_its_whole_load() {
    if skipped(&["php"]) {
        return;
    }
    let sandbox = Sandbox::new();
    let plan = "app: hello\nwarm_up: 0s\nload: {half: {concurrency: 2, for: 1500ms}}\nruntimes: [php-builtin]\n";
    sandbox.write("plan.yaml", plan);
    // Prices that are none are refused before anything is measured.
    let output = finish(sandbox.stampede(&["compare", "plan.yaml", "--price", "cheap"]), LIMIT);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    let price = ["compare", "plan.yaml", "--price", "cpu=0.03,memory=0.004,EUR"];
    let output = finish(sandbox.stampede(&price), LIMIT);
    assert_measured(&sandbox, &output);
    assert!(stdout(&output).contains("EUR"), "{}", stdout(&output));
    let trial = &trials(&sandbox)[0];
    let directory = std::fs::read_dir(sandbox.run().join("trials")).expect("trials").next();
    let directory = directory.expect("a trial").expect("a directory").path();
    let rows = std::fs::read_to_string(directory.join("resources.ndjson")).expect("readings");
    let read: u64 = rows
        .lines()
        .map(|row| serde_json::from_str::<Value>(row).expect("JSON"))
        .map(|row| row["interval_ns"].as_u64().expect("a length"))
        .sum();
    let lasted = trial["load"]["lasted_ns"].as_u64().expect("a length");
    assert!(read >= lasted, "{read} ns of {lasted} were read:\n{rows}");
}

/// The demo names at most five runtimes that are here, or says what to install.
#[test]
fn the_demo_says_what_it_will_compare() {
    if skipped(&["php", "nginx", "php-fpm"]) {
        return;
    }
    let sandbox = Sandbox::new();
    let output = finish(sandbox.stampede(&["demo", "--dry-run", "--json"]), LIMIT);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let planned: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    let cases = planned["run"]["cases"].as_array().expect("cases");
    let app = cases[0]["app"].as_str().expect("an app");
    let other_app = fact(&planned["run"]["notices"], "demo_app");
    assert_eq!(app == "symfony", other_app.is_null(), "{other_app}");
    let mut runtimes: Vec<&str> =
        cases.iter().filter_map(|case| case["runtime"].as_str()).collect();
    runtimes.sort_unstable();
    runtimes.dedup();
    assert!((2..=5).contains(&runtimes.len()), "{runtimes:?}");
    assert!(runtimes.contains(&"nginx-fpm"), "{runtimes:?}");
    assert_eq!(planned["trials"].as_u64(), Some(3 * 2 * runtimes.len() as u64));

    // Nothing is measured if there is no place for the results.
    sandbox.write("taken/notes.txt", "mine");
    let started = std::time::Instant::now();
    let output = finish(sandbox.stampede(&["demo", "--out", "taken"]), LIMIT);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(!stderr(&output).contains("peak"), "{}", stderr(&output));
    assert!(started.elapsed() < Duration::from_secs(30));
}

/// The given time covers each version of the app, and what cannot be kept is said.
#[test]
fn a_time_that_cannot_be_kept_is_said() {
    if skipped(&["php"]) {
        return;
    }
    let sandbox = Sandbox::new();
    let plan = |rest: &str| {
        let warm_up = if rest.contains("cold") { "" } else { "warm_up: 0s\n" };
        let text = format!("app: hello\n{warm_up}runtimes: [php-builtin]\n{rest}\n");
        sandbox.write("plan.yaml", &text);
    };
    let notices =
        |flags: &[&str]| dry(&sandbox, &[&["plan.yaml"], flags].concat())["run"]["notices"].clone();
    plan("rounds: 50\nload: const(5,1s)");
    let said = fact(&notices(&["--within", "30s"]), "within_not_kept").clone();
    assert_eq!(said["within_ns"], 30_000_000_000_u64, "{said}");
    assert!(said["takes_ns"].as_u64() > Some(50_000_000_000), "{said}");
    plan("load: {many: {concurrency: 2, requests: 1000000}}");
    let said = fact(&notices(&["--within", "30s"]), "within_not_kept").clone();
    assert_eq!((said["code"].as_str(), &said["takes_ns"]), (Some("within_not_kept"), &Value::Null));
    plan("rounds: auto\nload: const(5,30s)");
    let said = fact(&notices(&["--within", "5m"]), "rounds_auto").clone();
    assert_eq!(said["max_time_ns"], 300_000_000_000_u64, "{said}");
    plan("cold: true\nload: const(5,30s)");
    assert_eq!(fact(&notices(&["--quick"]), "within_not_kept"), &Value::Null, "cold is fine");
    plan("fairness: each-at-its-best\nload: {day: {concurrency: 2, for: 5s}}");
    let output = finish(sandbox.stampede(&["compare", "plan.yaml", "--quick", "--dry-run"]), LIMIT);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}
