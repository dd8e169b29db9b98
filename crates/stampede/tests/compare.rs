//! Tests `stampede compare` from the outside: real runtimes, real load, and the files on disk.

#[macro_use]
mod words;

mod common;

use std::time::Duration;

use common::{Place, assert_measured, fact, finish, skipped, stderr, stdout, summary, trials};
use serde_json::Value;
use words::says;

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
fn three_real_runtimes_are_compared_and_nothing_is_left() {
    if skipped(&["nginx", "php-fpm", "apache2", "php"]) {
        return;
    }
    let place = Place::new();
    place.write("plan.yaml", THREE);
    let output = finish(place.stampede(&["compare", "plan.yaml"]), LIMIT);
    let (out, err) = (stdout(&output), stderr(&output));
    assert_measured(&place, &output);
    for name in ["nginx-fpm", "apache-modphp", "php-builtin"] {
        assert!(out.contains(name), "no row for {name}:\n{out}");
    }
    assert_eq!(
        err.lines().filter(|line| line.contains("answers/s")).count(),
        3,
        "one line a trial:\n{err}"
    );

    let summary = summary(&place);
    let cases = summary["cases"].as_array().expect("cases");
    assert_eq!(cases.len(), 3);
    for case in cases {
        assert_eq!(case["app"], "hello", "{case:#}");
        assert_eq!(case["load"], "steady", "{case:#}");
    }
    for trial in std::fs::read_dir(place.run().join("trials")).expect("trials").flatten() {
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
    assert_eq!(place.left_behind(), Vec::<String>::new());
    again_from_disk(&place, &out);
}

/// Checks that `report` prints the same table from disk, and checks the other formats.
fn again_from_disk(place: &Place, first: &str) {
    let run = place.run().display().to_string();
    let text = finish(place.stampede(&["report", &run]), LIMIT);
    assert!(first.starts_with(&stdout(&text)), "another table:\n{first}\n---\n{}", stdout(&text));
    for (format, part) in [("markdown", "### hello"), ("csv", "runtime,"), ("json", "\"cases\"")] {
        let output = finish(place.stampede(&["report", "last", "--format", format]), LIMIT);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert!(stdout(&output).contains(part), "{format}: {}", stdout(&output));
    }
}

#[test]
fn a_runtime_that_does_not_start_shows_its_log_and_the_others_go_on() {
    if skipped(&["php"]) {
        return;
    }
    let place = Place::new();
    place.write("runtimes/broken/runtime.yaml", BROKEN);
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
    let mut command = place.stampede(&args);
    command.env("STAMPEDE_RUNTIMES", place.path().join("runtimes"));
    let output = finish(command, LIMIT);
    let all = stdout(&output) + &stderr(&output);
    assert_eq!(output.status.code(), Some(3), "{all}");
    let why = says("runtime_failed", "cannot bind the moon");
    assert!(all.contains(why), "its last log line is missing:\n{all}");
    let summary = summary(&place);
    let verdict = |name: &str| {
        let cases = summary["cases"].as_array().expect("cases");
        let case = cases.iter().find(|case| case["runtime"] == name);
        case.expect("a row for each")["verdict"].clone()
    };
    assert_eq!(verdict("broken"), "invalid", "{summary:#}");
    assert_ne!(verdict("php-builtin"), "invalid", "{summary:#}");
    assert_eq!(place.left_behind(), Vec::<String>::new());
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
fn an_ordinary_user_can_compare() {
    if skipped(&["nginx", "php-fpm", "apache2", "setpriv"]) {
        return;
    }
    if !rustix::process::geteuid().is_root() {
        println!("SKIPPED: the other tests ran as an ordinary user already");
        return;
    }
    let place = Place::new();
    place.write("plan.yaml", THREE);
    for directory in [place.path().to_path_buf(), place.tmp()] {
        std::os::unix::fs::chown(directory, Some(NOBODY), Some(NOBODY)).expect("chown");
    }
    // The user may not be able to enter the binary's directory.
    let binary = place.path().join("stampede");
    std::fs::copy(env!("CARGO_BIN_EXE_stampede"), &binary).expect("a copy of the binary");
    let inner = place.stampede(&["compare", "plan.yaml"]);
    let mut command = std::process::Command::new("setpriv");
    command
        .args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"])
        .arg(&binary)
        .args(inner.get_args());
    command
        .current_dir(place.path())
        .envs(inner.get_envs().filter_map(|(key, value)| Some((key, value?))));
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let output = finish(command, LIMIT);
    assert_measured(&place, &output);
    assert_eq!(summary(&place)["cases"].as_array().map(Vec::len), Some(3));
    assert_eq!(place.left_behind(), Vec::<String>::new());
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
    ("fire-no-load", &["fire", "http://127.0.0.1:1/"]),
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
    let place = Place::new();
    place.write("empty/readme.txt", "no app here");
    place.write("taken/keep.txt", "mine");
    place.write(
        "bad.yaml",
        "app: hello\nruntimes: [php-builtin]\nlaod: [{concurrency: 4, for: 20s}]\n",
    );
    place.write(
        "setting.yaml",
        "app: hello\nruntimes: [{php-builtin: {wrokers: 4}}]\nload: [{concurrency: 4, for: 20s}]\n",
    );
    place.write(
        "value.yaml",
        "app: hello\nruntimes: [{nginx-fpm: {pm: sometimes}}]\nload: [{concurrency: 4, for: 20s}]\n",
    );
    place.write(
        "not-honoured.yaml",
        "app: hello\nmax_requests: 500\nruntimes: [apache-modphp]\nload: [{concurrency: 4, for: 20s}]\n",
    );
    place.write(
        "bad-only.yaml",
        "app: hello\nruntimes: [nginx-fpm, php-builtin]\nload: [{concurrency: 4, for: 20s}]\n",
    );
    for (name, args) in MISTAKES {
        let output = finish(place.stampede(args), LIMIT);
        let err = stderr(&output).replace(&place.path().display().to_string(), "PLACE");
        assert_eq!(output.status.code(), Some(2), "{name}: {err}{}", stdout(&output));
        assert_eq!(stdout(&output), "", "{name}");
        assert_words!(*name, err);
    }
    assert!(!place.path().join("stampede-results").exists(), "something was written");
    assert_eq!(place.left_behind(), Vec::<String>::new());
}

#[test]
fn a_dry_run_starts_nothing() {
    if skipped(&["nginx", "php-fpm", "apache2", "php"]) {
        return;
    }
    let place = Place::new();
    place.write("plan.yaml", THREE);
    let output = finish(place.stampede(&["compare", "plan.yaml", "--dry-run"]), LIMIT);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_words!("dry-run", stdout(&output));
    assert!(!place.path().join("stampede-results").exists());
}

/// The app's answer changes from the fifth second on, which is in the middle of the load.
#[test]
fn an_answer_that_changes_under_load_keeps_what_was_measured_as_invalid() {
    if skipped(&["php"]) {
        return;
    }
    let place = Place::new();
    place.write(
        "app/public/index.php",
        "<?php echo time() < (int) getenv('SWITCH_AT') ? 'before' : 'after';",
    );
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let switch_at = now.expect("after 1970").as_secs() + 5;
    let plan = format!(
        "app: ./app\nruntimes: [php-builtin]\nworkers: 2\nenv: {{SWITCH_AT: \"{switch_at}\"}}\n\
         load: {{steady: {{rate: 20, for: 7s}}}}\ncold: true\nrepeat_invalid: 0\n"
    );
    place.write("plan.yaml", &plan);
    let output = finish(place.stampede(&["compare", "plan.yaml"]), LIMIT);
    let all = stdout(&output) + &stderr(&output);
    assert_eq!(output.status.code(), Some(3), "{all}");
    let trial = &trials(&place)[0];
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
    let place = Place::new();
    place.write("shop/index.php", "<?php echo 'hello';");
    let dry = |more: &[&str]| {
        let args = [&["compare", "--app", "./shop", "--dry-run"][..], more].concat();
        let output = finish(place.stampede(&args), LIMIT);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        stdout(&output) + &stderr(&output)
    };
    let said = dry(&["--runtimes", "php-builtin"]);
    assert!(said.contains("round 3") && !said.contains("round 4"), "{said}");
    assert!(said.contains("steady (50 % of the baseline's peak, for 10 s)"), "{said}");
    assert!(said.contains("peak (8 at a time, no pause, for 10 s)"), "{said}");
    let said = dry(&["--runtimes", "php-builtin", "--rounds", "1", "--for", "2s"]);
    assert!(!said.contains("round 2") && said.contains("no pause, for 2 s"), "{said}");
    // A number of requests ends only a load that it belongs to.
    let said = dry(&["--runtimes", "php-builtin", "--requests", "100"]);
    assert!(!said.contains("steady") && said.contains("no pause, 100 requests"), "{said}");
    // A rate without a length gets the default length.
    let said = dry(&["--runtimes", "php-builtin", "--rate", "5"]);
    assert!(said.contains("const(5,10s)"), "{said}");
}

/// Every part of a plan has a default, and no part requires another one.
#[test]
fn a_plan_may_leave_out_its_app_its_runtimes_or_its_load() {
    if skipped(&["php"]) {
        return;
    }
    let place = Place::new();
    let dry = |text: &str| {
        place.write("partial.yaml", text);
        let output = finish(place.stampede(&["compare", "partial.yaml", "--dry-run"]), LIMIT);
        assert_eq!(output.status.code(), Some(0), "{text}\n{}", stderr(&output));
        stdout(&output)
    };
    let said = dry("runtimes: [php-builtin]\nload: [\"const(5,1s)\"]\n");
    assert!(said.contains("php-builtin · hello · const(5,1s)"), "{said}");
    let said = dry("app: hello\nload: [\"const(5,1s)\"]\n");
    assert!(said.contains(" · hello · const(5,1s)"), "{said}");
    let said = dry("app: hello\nruntimes: [php-builtin]\n");
    assert!(said.contains("php-builtin · hello · steady") && said.contains("· peak"), "{said}");
}

/// Without flags, a directory with PHP is the app.
#[test]
fn without_any_flag_the_directorys_app_is_compared() {
    if skipped(&["php"]) {
        return;
    }
    let place = Place::new();
    let dry = || {
        let args = ["compare", "--runtimes", "php-builtin", "--dry-run"];
        let output = finish(place.stampede(&args), LIMIT);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        stdout(&output)
    };
    assert!(dry().contains(says("chosen", "--app hello")), "{}", dry());
    place.write("public/index.php", "<?php echo 'shop';");
    assert!(dry().contains("--app ."), "{}", dry());
    // If there is a `stampede.yaml`, it is run as it is.
    place.write("stampede.yaml", "app: hello\nload: [\"const(5,1s)\"]\n");
    assert!(dry().contains("stampede.yaml") && dry().contains("const(5,1s)"), "{}", dry());
}

/// The baseline is chosen before the run: by a flag, by the plan, or as the first runtime named.
#[test]
fn the_baseline_is_chosen_before_the_run() {
    if skipped(&["php"]) {
        return;
    }
    let place = Place::new();
    let plan = "app: hello\nruntimes: [php-builtin, {two: {use: php-builtin, workers: 2}}]\n\
                load: [\"const(5,1s)\"]\n";
    let chosen = |text: &str, flags: &[&str]| {
        place.write("plan.yaml", text);
        let args = [&["compare", "plan.yaml", "--dry-run", "--json"][..], flags].concat();
        let output = finish(place.stampede(&args), LIMIT);
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
    let output =
        finish(place.stampede(&["compare", "plan.yaml", "--dry-run", "--baseline", "tow"]), LIMIT);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("`two`"), "the nearest name: {}", stderr(&output));
}

/// The baseline's peak is measured first, and half of it is the rate of the other load.
#[test]
fn without_a_load_the_peak_is_measured_first_and_half_of_it_is_sent() {
    if skipped(&["php"]) {
        return;
    }
    let place = Place::new();
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
    let output = finish(place.stampede(&args), LIMIT);
    let text = std::fs::read_to_string(place.run().join("run.json")).expect("a run");
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
