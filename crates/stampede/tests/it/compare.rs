//! Tests `stampede compare` from the outside: real runtimes, real load, and the files on disk.

use std::time::Duration;

use serde_json::Value;

use crate::common::{
    Sandbox, assert_measured, fact, finish, skipped, stderr, stdout, summary, trials,
    without_runtimes,
};
use crate::words::code_or;

const LIMIT: Duration = Duration::from_secs(90);

const THREE: &str = "app: hello
workers: 4
runtimes: [nginx-fpm, apache-modphp, php-builtin]
load: {steady: {schedule: \"const(100,2s)\", keep_alive: false}}
warm_up: 500ms
seed: 7
repeat_invalid: 0
";

#[test]
#[ignore = "long: 10 s"]
fn three_real_runtimes_are_compared_and_nothing_is_left() {
    if skipped(&["nginx", "php-fpm", "apache2", "php"]) {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.write("plan.yaml", THREE);
    let output = finish(sandbox.stampede(&["compare", "plan.yaml"]), LIMIT);
    let (out, err) = (stdout(&output), stderr(&output));
    assert_measured(&sandbox, &output);
    for name in ["nginx-fpm", "apache-modphp", "php-builtin"] {
        assert!(out.contains(name), "no row for {name}:\n{out}");
    }
    assert_eq!(
        err.lines().filter(|line| line.contains("answers/s")).count(),
        3,
        "one line a trial:\n{err}"
    );

    let summary = summary(&sandbox);
    let cases = summary["cases"].as_array().expect("cases");
    assert_eq!(cases.len(), 3);
    for case in cases {
        assert_eq!(case["app"], "hello", "{case:#}");
        assert_eq!(case["load"], "steady", "{case:#}");
    }
    for trial in std::fs::read_dir(sandbox.run().join("trials")).expect("trials").flatten() {
        let record: Value = serde_json::from_str(
            &std::fs::read_to_string(trial.path().join("trial.json")).expect("trial.json"),
        )
        .expect("JSON");
        let counts = &record["load"]["counts"];
        assert_eq!(counts["planned"], 200, "{record:#}");
        assert_eq!(counts["ok"], 200, "{record:#}");
        assert_eq!(record["runtime"]["before"]["workers"], 4, "{record:#}");
        for file in [
            "seconds.hlog",
            "total.hlog",
            "seconds.ndjson",
            "resources.ndjson",
            "errors.ndjson",
            "logs",
        ] {
            assert!(trial.path().join(file).exists(), "no {file} in {}", trial.path().display());
        }
        let resources =
            std::fs::read_to_string(trial.path().join("resources.ndjson")).expect("rows");
        let cpu: u64 = resources
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok())
            .map(|row| {
                let roles = row["roles"].as_object().expect("roles").clone();
                roles.values().filter_map(|role| role["cpu_ns"].as_u64()).sum::<u64>()
            })
            .sum();
        assert!(
            cpu > 10_000_000,
            "200 answers of PHP cost more than 10 ms of CPU: {cpu} ns\n{resources}"
        );
    }
    assert_eq!(sandbox.left_behind(), Vec::<String>::new());
    again_from_disk(&sandbox, &out);
}

/// Checks that `report` prints the same table from disk, and checks the other formats.
fn again_from_disk(sandbox: &Sandbox, first: &str) {
    let run = sandbox.run().display().to_string();
    let text = finish(sandbox.stampede(&["report", &run]), LIMIT);
    assert!(first.starts_with(&stdout(&text)), "another table:\n{first}\n---\n{}", stdout(&text));
    for (format, part) in [("markdown", "### hello"), ("csv", "runtime,"), ("json", "\"cases\"")] {
        let output = finish(sandbox.stampede(&["report", "last", "--format", format]), LIMIT);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert!(stdout(&output).contains(part), "{format}: {}", stdout(&output));
    }
}

#[test]
fn a_runtime_that_does_not_start_shows_its_log_and_the_others_go_on() {
    if skipped(&["php"]) {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.write("runtimes/broken/runtime.yaml", BROKEN);
    let args = [
        "compare",
        "--app",
        "hello",
        "--runtimes",
        "broken,php-builtin",
        "--concurrency",
        "2",
        "--for",
        "1s",
        "--warm-up",
        "0s",
    ];
    let mut command = sandbox.stampede(&args);
    command.env("STAMPEDE_RUNTIMES", sandbox.path().join("runtimes"));
    let output = finish(command, LIMIT);
    let all = stdout(&output) + &stderr(&output);
    assert_eq!(output.status.code(), Some(3), "{all}");
    let why = code_or("runtime_failed", "cannot bind the moon");
    assert!(all.contains(why), "its last log line is missing:\n{all}");
    let summary = summary(&sandbox);
    let verdict = |name: &str| {
        let cases = summary["cases"].as_array().expect("cases");
        let case = cases.iter().find(|case| case["runtime"] == name);
        case.expect("a row for each")["verdict"].clone()
    };
    assert_eq!(verdict("broken"), "invalid", "{summary:#}");
    assert_ne!(verdict("php-builtin"), "invalid", "{summary:#}");
    assert_eq!(sandbox.left_behind(), Vec::<String>::new());
}

const BROKEN: &str = "title: A runtime that cannot start
mode: per-request
app_kinds: [script, callable]
worker_held_by: request
needs:
  sh: { programs: [sh] }
files: []
processes:
  - { role: php, run: \"sh -c 'echo cannot bind the moon; exit 1'\", stop: { signal: TERM, grace: 1s } }
effective_workers: { processes: { role: php } }
ready: { path: /, within: 5s }
install:
  debian: { packages: [dash] }
";

#[test]
#[ignore = "long: 10 s"]
fn an_ordinary_user_can_compare() {
    if skipped(&["nginx", "php-fpm", "apache2", "setpriv"]) {
        return;
    }
    if !rustix::process::geteuid().is_root() {
        println!("SKIPPED: the other tests ran as an ordinary user already");
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.write("plan.yaml", THREE);
    for directory in [sandbox.path().to_path_buf(), sandbox.tmp()] {
        std::os::unix::fs::chown(directory, Some(NOBODY), Some(NOBODY)).expect("chown");
    }
    // The user may not be able to enter the binary's directory.
    let binary = sandbox.path().join("stampede");
    std::fs::copy(env!("CARGO_BIN_EXE_stampede"), &binary).expect("a copy of the binary");
    let inner = sandbox.stampede(&["compare", "plan.yaml"]);
    let mut command = std::process::Command::new("setpriv");
    command
        .args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"])
        .arg(&binary)
        .args(inner.get_args());
    command
        .current_dir(sandbox.path())
        .envs(inner.get_envs().filter_map(|(key, value)| Some((key, value?))));
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let output = finish(command, LIMIT);
    assert_measured(&sandbox, &output);
    assert_eq!(summary(&sandbox)["cases"].as_array().map(Vec::len), Some(3));
    assert_eq!(sandbox.left_behind(), Vec::<String>::new());
}

const NOBODY: u32 = 65534;

/// Names, and command lines with one mistake each.
const MISTAKES: &[(&str, &[&str])] = &[
    (
        "unknown-runtime",
        &["compare", "--app", "hello", "--runtimes", "ngnix-fpm", "--rate", "1", "--for", "1s"],
    ),
    (
        "unknown-app",
        &["compare", "--app", "helo", "--runtimes", "php-builtin", "--rate", "1", "--for", "1s"],
    ),
    (
        "no-app-there",
        &["compare", "--app", "./empty", "--runtimes", "php-builtin", "--rate", "1", "--for", "1s"],
    ),
    (
        "bad-schedule",
        &[
            "compare",
            "--app",
            "hello",
            "--runtimes",
            "php-builtin",
            "--schedule",
            "line(1,100,60s) konst(5,1s)",
        ],
    ),
    ("no-plan-file", &["compare", "missing.yaml"]),
    ("bad-plan", &["compare", "bad.yaml"]),
    ("unknown-setting", &["compare", "setting.yaml"]),
    ("bad-setting", &["compare", "value.yaml"]),
    ("not-honoured", &["compare", "not-honoured.yaml"]),
    (
        "out-exists",
        &[
            "compare",
            "--app",
            "hello",
            "--runtimes",
            "php-builtin",
            "--rate",
            "1",
            "--for",
            "1s",
            "--out",
            "taken",
        ],
    ),
    ("only-unknown", &["compare", "bad-only.yaml", "--only", "nginx-fmp"]),
    ("fire-no-url", &["fire", "127.0.0.1:80", "--rate", "1", "--for", "1s"]),
    ("up-unknown", &["up", "frankenphb"]),
    ("up-two", &["up", "nginx-fpm,php-builtin"]),
    ("up-no-workers", &["up", "php-builtin", "--workers", "0"]),
    ("negative-rate", &["compare", "--app", "hello", "--runtimes", "php-builtin", "--rate", "-5"]),
    (
        "out-exists-dry",
        &[
            "compare",
            "--app",
            "hello",
            "--runtimes",
            "php-builtin",
            "--concurrency",
            "1",
            "--for",
            "1s",
            "--out",
            "taken",
            "--dry-run",
        ],
    ),
    ("report-none", &["report", "last"]),
];

/// Every mistake gives exit code 2 and its message. Nothing is started, and nothing is written.
#[test]
fn bad_input_is_refused_before_anything_starts() {
    let sandbox = Sandbox::new();
    sandbox.write("empty/readme.txt", "no app here");
    sandbox.write("taken/keep.txt", "mine");
    sandbox.write(
        "bad.yaml",
        "app: hello\nruntimes: [php-builtin]\nlaod: [{concurrency: 4, for: 20s}]\n",
    );
    sandbox.write(
        "setting.yaml",
        "app: hello\nruntimes: [{php-builtin: {wrokers: 4}}]\nload: [{concurrency: 4, for: 20s}]\n",
    );
    sandbox.write(
        "value.yaml",
        "app: hello\nruntimes: [{nginx-fpm: {pm: sometimes}}]\nload: [{concurrency: 4, for: 20s}]\n",
    );
    sandbox.write(
        "not-honoured.yaml",
        "app: hello\nmax_requests: 500\nruntimes: [apache-modphp]\nload: [{concurrency: 4, for: 20s}]\n",
    );
    sandbox.write(
        "bad-only.yaml",
        "app: hello\nruntimes: [nginx-fpm, php-builtin]\nload: [{concurrency: 4, for: 20s}]\n",
    );
    for (name, args) in MISTAKES {
        let output = finish(sandbox.stampede(args), LIMIT);
        let err = stderr(&output).replace(&sandbox.path().display().to_string(), "PLACE");
        assert_eq!(output.status.code(), Some(2), "{name}: {err}{}", stdout(&output));
        assert_eq!(stdout(&output), "", "{name}");
        without_runtimes(&[], &["max_requests"]).bind(|| assert_words!(*name, err));
    }
    assert!(!sandbox.path().join("stampede-results").exists(), "something was written");
    assert_eq!(sandbox.left_behind(), Vec::<String>::new());
}

#[test]
fn a_dry_run_starts_nothing() {
    if skipped(&["nginx", "php-fpm", "apache2", "php"]) {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.write("plan.yaml", THREE);
    let output = finish(sandbox.stampede(&["compare", "plan.yaml", "--dry-run"]), LIMIT);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_words!("dry-run", stdout(&output));
    assert!(!sandbox.path().join("stampede-results").exists());
}

/// The app's answer changes from the fifth second on, which is in the middle of the load.
#[test]
#[ignore = "long: 15 s"]
fn an_answer_that_changes_under_load_keeps_what_was_measured_as_invalid() {
    if skipped(&["php"]) {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.write(
        "app/public/index.php",
        "<?php echo time() < (int) getenv('SWITCH_AT') ? 'before' : 'after';",
    );
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let switch_at = now.expect("after 1970").as_secs() + 5;
    let plan = format!(
        "app: ./app\nruntimes: [php-builtin]\nworkers: 2\nenv: {{SWITCH_AT: \"{switch_at}\"}}\n\
         load: {{steady: {{rate: 20, for: 7s}}}}\ncold: true\nrepeat_invalid: 0\n"
    );
    sandbox.write("plan.yaml", &plan);
    let output = finish(sandbox.stampede(&["compare", "plan.yaml"]), LIMIT);
    let all = stdout(&output) + &stderr(&output);
    assert_eq!(output.status.code(), Some(3), "{all}");
    let trial = &trials(&sandbox)[0];
    assert_eq!(trial["verdict"]["judged"], "invalid", "{trial:#}");
    assert!(!fact(&trial["verdict"]["reasons"], "answer_changed").is_null(), "{trial:#}");
    assert_eq!(trial["load"]["counts"]["ok"], 140, "what was measured is kept: {trial:#}");
}

/// Naming runtimes does not require naming a load, nor the other way round.
#[test]
fn runtimes_alone_are_compared_under_the_default_loads() {
    if skipped(&["php"]) {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.write("shop/index.php", "<?php echo 'hello';");
    let dry = |more: &[&str]| {
        let args = [&["compare", "--app", "./shop", "--dry-run"][..], more].concat();
        let output = finish(sandbox.stampede(&args), LIMIT);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        stdout(&output) + &stderr(&output)
    };
    let printed = dry(&["--runtimes", "php-builtin"]);
    assert!(printed.contains("round 3") && !printed.contains("round 4"), "{printed}");
    assert!(printed.contains("steady (50 % of the baseline's peak, for 10 s)"), "{printed}");
    assert!(printed.contains("peak (8 at a time, no pause, for 10 s)"), "{printed}");
    let printed = dry(&["--runtimes", "php-builtin", "--rounds", "1", "--for", "2s"]);
    assert!(!printed.contains("round 2") && printed.contains("no pause, for 2 s"), "{printed}");
    // A number of requests ends only a load that it belongs to.
    let printed = dry(&["--runtimes", "php-builtin", "--requests", "100"]);
    assert!(!printed.contains("steady") && printed.contains("no pause, 100 requests"), "{printed}");
    // A rate without a length gets the default length.
    let printed = dry(&["--runtimes", "php-builtin", "--rate", "5"]);
    assert!(printed.contains("const(5,10s)"), "{printed}");
}

/// Every part of a plan has a default, and no part requires another one.
#[test]
fn a_plan_may_leave_out_its_app_its_runtimes_or_its_load() {
    if skipped(&["php"]) {
        return;
    }
    let sandbox = Sandbox::new();
    let dry = |text: &str| {
        sandbox.write("partial.yaml", text);
        let output = finish(sandbox.stampede(&["compare", "partial.yaml", "--dry-run"]), LIMIT);
        assert_eq!(output.status.code(), Some(0), "{text}\n{}", stderr(&output));
        stdout(&output)
    };
    let printed = dry("runtimes: [php-builtin]\nload: [\"const(5,1s)\"]\n");
    assert!(printed.contains("php-builtin · hello · const(5,1s)"), "{printed}");
    let printed = dry("app: hello\nload: [\"const(5,1s)\"]\n");
    assert!(printed.contains(" · hello · const(5,1s)"), "{printed}");
    let printed = dry("app: hello\nruntimes: [php-builtin]\n");
    assert!(
        printed.contains("php-builtin · hello · steady") && printed.contains("· peak"),
        "{printed}"
    );
}

/// Without flags, a directory with PHP is the app.
#[test]
fn without_any_flag_the_directorys_app_is_compared() {
    if skipped(&["php"]) {
        return;
    }
    let sandbox = Sandbox::new();
    let dry = || {
        let args = ["compare", "--runtimes", "php-builtin", "--dry-run"];
        let output = finish(sandbox.stampede(&args), LIMIT);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        stdout(&output)
    };
    assert!(dry().contains(code_or("chosen", "--app hello")), "{}", dry());
    sandbox.write("public/index.php", "<?php echo 'shop';");
    assert!(dry().contains(code_or("note: app_detected", "--app .")), "{}", dry());
    // If there is a `stampede.yaml`, it is run as it is.
    sandbox.write("stampede.yaml", "app: hello\nload: [\"const(5,1s)\"]\n");
    assert!(dry().contains(code_or("note: chosen", "stampede.yaml")), "{}", dry());
    assert!(dry().contains("const(5,1s)"), "{}", dry());
}

/// The baseline is chosen before the run: by a flag, by the plan, or as the first runtime named.
#[test]
fn the_baseline_is_chosen_before_the_run() {
    if skipped(&["php"]) {
        return;
    }
    let sandbox = Sandbox::new();
    let plan = "app: hello\nruntimes: [php-builtin, {two: {use: php-builtin, workers: 2}}]\n\
                load: [\"const(5,1s)\"]\n";
    let chosen = |text: &str, flags: &[&str]| {
        sandbox.write("plan.yaml", text);
        let args = [&["compare", "plan.yaml", "--dry-run", "--json"][..], flags].concat();
        let output = finish(sandbox.stampede(&args), LIMIT);
        let run: Value = serde_json::from_str(&stdout(&output)).unwrap_or_default();
        (output.status.code(), run["run"]["baseline"].as_str().unwrap_or_default().to_owned())
    };
    let is = |name: &str| (Some(0), name.to_owned());
    assert_eq!(chosen(plan, &[]), is("php-builtin"));
    assert_eq!(chosen(&format!("{plan}baseline: two\n"), &[]), is("two"));
    assert_eq!(
        chosen(&format!("{plan}baseline: two\n"), &["--baseline", "php-builtin"]),
        is("php-builtin")
    );
    let output = finish(
        sandbox.stampede(&["compare", "plan.yaml", "--dry-run", "--baseline", "tow"]),
        LIMIT,
    );
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("`two`"), "the nearest name: {}", stderr(&output));
}

/// The baseline's peak is measured first, and half of it is the rate of the other load.
#[test]
#[ignore = "long: 11 s"]
fn without_a_load_the_peak_is_measured_first_and_half_of_it_is_sent() {
    if skipped(&["php"]) {
        return;
    }
    let sandbox = Sandbox::new();
    let args = [
        "compare",
        "--app",
        "hello",
        "--runtimes",
        "php-builtin",
        "--for",
        "1s",
        "--warm-up",
        "0s",
        "--rounds",
        "1",
    ];
    let output = finish(sandbox.stampede(&args), LIMIT);
    let text = std::fs::read_to_string(sandbox.run().join("run.json")).expect("a run");
    let run: Value = serde_json::from_str(&text).expect("JSON");
    let peak = &run["peak"];
    assert_eq!(peak["runtime"], "php-builtin", "{}", stderr(&output));
    let (all, rate) = (&peak["throughput_per_second"], &peak["rates"][0]["rate_per_second"]);
    let (all, rate) = (all.as_f64().expect("a peak"), rate.as_f64().expect("a rate"));
    // The rate is rounded to two digits.
    assert!((rate / all - 0.5).abs() < 0.03, "{rate} of {all}");
    let schedule = run["cases"][0]["load_text"].as_str().unwrap_or_default();
    assert!(schedule.starts_with("const(") && schedule.ends_with(",1s)"), "{schedule}");
    assert!(
        stdout(&output).contains("steady: ") && stdout(&output).contains("peak: "),
        "{}",
        stdout(&output)
    );
}
