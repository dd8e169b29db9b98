//! Plans from the outside: what is wrong is refused at its place, what is said reaches the
//! runtime.

mod common;

use std::time::Duration;

use common::{Place, finish, skipped, stderr, stdout};
use serde_json::Value;

const LIMIT: Duration = Duration::from_secs(90);

/// A runtime that every machine has the program of, for apps of one kind.
const PICKY: &str = "title: picky
mode: per-request
app_kinds: [symfony, laravel]
worker_held_by: request
needs: { sh: { programs: [sh], version: \"true\" } }
common: [workers, max_requests]
files: []
processes:
  - { role: php, run: \"sh -c 'exit 1'\", stop: { signal: TERM, grace: 1s } }
ready: { path: /, within: 1s }
effective_workers: { processes: { role: php } }
";

/// The same for every app, so that what comes after the app's kind can be tested.
fn plain() -> String {
    PICKY.replace("[symfony, laravel]", "[callable]").replace("picky", "plain")
}

/// Plans with one mistake, each a name and its first lines.
const MISTAKES: &[(&str, &str)] = &[
    ("setting-of-one", "app: hello\npm: dynamic\nruntimes: [plain]"),
    ("program-of-one", "app: hello\nphp-fpm: /opt/php-fpm\nruntimes: [plain]"),
    ("sweep-of-all", "app: hello\nsweep: {jit: [\"off\"]}\nruntimes: [plain]"),
    ("users-of-all", "app: hello\nusers: 4\nruntimes: [plain]"),
    ("cpus-of-all", "app: hello\ncpus: 4\nruntimes: [plain]"),
    ("habit-of-all", "app: hello\nmax_in_flight: 4\nruntimes: [plain]"),
    ("near", "app: hello\nwokers: 4\nruntimes: [plain]"),
    ("not-honoured-by-one", "app: hello\njit: tracing\nruntimes: [php-builtin, plain]"),
    ("not-honoured-in-its-map", "app: hello\nruntimes: [{plain: {jit: tracing}}]"),
    ("not-honoured-by-any", "app: hello\njit: tracing\nruntimes: [plain]"),
    (
        "swept-value",
        "app: hello\nruntimes: [{plain: {sweep: {workers: [1, 2], jit: [disable, no]}}}]",
    ),
    ("program-not-there", "app: hello\nruntimes: [{plain: {sh: ./no/sh}}]"),
    ("file-not-there", "app: hello\nruntimes: [{nginx-fpm: {append: {ngin.conf: x}}}]"),
    ("folder-not-there", "app: ./shop\nruntimes: [plain]"),
    ("folder-without-app", "apps: [hello, ./empty]\nruntimes: [plain]"),
    ("unknown-app", "apps: [hello, helo]\nruntimes: [plain]"),
    ("wrong-kind", "app: hello\nruntimes: [plain, {few: {use: picky, workers: 2}}]"),
    ("live", "app: hello\nruntimes: [live: {url: \"http://127.0.0.1:1\"}]"),
];

#[test]
fn what_is_wrong_is_refused_at_its_place() {
    let place = Place::new();
    place.write("runtimes/picky/runtime.yaml", PICKY);
    place.write("runtimes/plain/runtime.yaml", &plain());
    place.write("empty/readme.txt", "no app here");
    let mut shown = String::new();
    for (name, lines) in MISTAKES {
        let text = format!("{lines}\nload: [{{users: 4, for: 20s}}]\n");
        let file = place.write(&format!("{name}.yaml"), &text);
        let file = file.file_name().expect("a name").to_string_lossy().into_owned();
        let mut command = place.stampede(&["compare", &file]);
        command.env("STAMPEDE_RUNTIMES", place.path().join("runtimes"));
        let output = finish(command, LIMIT);
        assert_eq!(output.status.code(), Some(2), "{name}: {}{}", stdout(&output), stderr(&output));
        assert_eq!(stdout(&output), "", "{name}");
        shown += &stderr(&output);
        shown.push('\n');
    }
    assert!(!place.path().join("stampede-results").exists(), "nothing was started");
    insta::assert_snapshot!(shown);
}

/// Raw lines for a file are in the file, in force, and in the record; a program named in the
/// plan is the one that is started.
#[test]
fn appended_lines_and_named_programs_reach_the_runtime() {
    if skipped(&["nginx", "php-fpm", "php"]) {
        return;
    }
    let place = Place::new();
    let php = std::fs::canonicalize("/usr/bin/php").expect("a PHP where Debian has it");
    let plan = format!(
        "app: hello
runtimes:
  - nginx-fpm:
      workers: 2
      append: {{nginx.conf: \"add_header X-Appended yes;\", php.ini: [date.timezone = Europe/Paris, precision = 9]}}
  - php-builtin: {{workers: 2, php: \"{}\", append: {{php.ini: date.timezone = Europe/Paris}}}}
load: [{{users: 1, requests: 5}}]
warm_up: 0s
",
        php.display()
    );
    place.write("plan.yaml", &plan);
    let output = finish(place.stampede(&["compare", "plan.yaml"]), LIMIT);
    let all = stdout(&output) + &stderr(&output);
    let mut seen = 0;
    for trial in std::fs::read_dir(place.run().join("trials")).expect("trials").flatten() {
        let text = std::fs::read_to_string(trial.path().join("trial.json")).expect("trial.json");
        let record: Value = serde_json::from_str(&text).expect("JSON");
        let runtime = &record["runtime"];
        assert_eq!(runtime["before"]["ini"]["date.timezone"], "Europe/Paris", "{record:#}\n{all}");
        let file = |name: &str| runtime["files"][name].as_str().unwrap_or_default().to_owned();
        assert!(
            file("php.ini").contains("\ndate.timezone = Europe/Paris\n"),
            "{}",
            file("php.ini")
        );
        if runtime["files"]["nginx.conf"].is_string() {
            assert!(file("nginx.conf").contains("add_header X-Appended yes;"));
            assert_eq!(runtime["before"]["ini"]["precision"], "9");
        } else {
            let started = runtime["commands"][0].as_str().expect("a command");
            assert!(started.starts_with(&format!("php: {} ", php.display())), "{started}");
        }
        seen += 1;
    }
    assert_eq!(seen, 2, "{all}");
}
