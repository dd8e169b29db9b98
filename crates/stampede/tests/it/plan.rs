//! Tests plans from the outside: a mistake is refused with its place, and settings reach the
//! runtime.

use std::time::Duration;

use serde_json::Value;

use crate::common::{Sandbox, finish, skipped, stderr, stdout, without_runtimes};

const LIMIT: Duration = Duration::from_secs(90);

/// A runtime whose program exists on every machine, for apps of few kinds.
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

/// The same for every app, to test mistakes that come after the app's kind.
fn plain() -> String {
    PICKY.replace("[symfony, laravel]", "[callable]").replace("picky", "plain")
}

/// The same, but it closes every connection.
fn closing() -> String {
    let setting = "settings: { keep_alive: { default: false, one_of: [false] } }\nfiles:";
    plain().replace("files:", setting).replace("plain", "closing")
}

/// Plans with one mistake each: a name, and the plan's first lines.
const MISTAKES: &[(&str, &str)] = &[
    ("setting-of-one", "app: hello\npm: dynamic\nruntimes: [nginx-fpm, plain]"),
    ("value-it-cannot-have", "app: hello\nsocket: tls\nruntimes: [plain]"),
    ("near-setting-of-one", "app: hello\nsokcet: tcp\nruntimes: [{few: {use: nginx-fpm}}]"),
    ("program-of-one", "app: hello\nphp-fpm: /opt/php-fpm\nruntimes: [plain]"),
    ("settings-of-one", "app: hello\nsettings: {workers: 4, pm: static}\nruntimes: [nginx-fpm]"),
    ("settings-of-all", "app: hello\nsettings: {workers: 4}\nruntimes: [plain]"),
    ("settings-in-runtime", "app: hello\nruntimes: [{plain: {settings: {workers: 4}}}]"),
    ("sweep-of-all", "app: hello\nsweep: {jit: [\"off\"]}\nruntimes: [plain]"),
    ("users-of-all", "app: hello\nconcurrency: 4\nruntimes: [plain]"),
    ("cpus-of-all", "app: hello\ncpus: 4\nruntimes: [plain]"),
    ("habit-of-all", "app: hello\nmax_in_flight: 4\nruntimes: [plain]"),
    ("near", "app: hello\nwokers: 4\nruntimes: [plain]"),
    ("near-runtime", "app: hello\nruntimes: [roadruner]"),
    (
        "nothing-fit",
        "app: hello\nruntimes: [closing]\nload: {kept: {concurrency: 2, for: 1s, keep_alive: true}}",
    ),
    ("near-program", "app: hello\nruntimes: [{nginx-fpm: {php-fmp: /opt/php-fpm}}]"),
    ("in-capitals", "app: hello\nruntimes: [{nginx-fpm: {PM: static}}]"),
    ("not-honoured-by-one", "app: hello\njit: tracing\nruntimes: [php-builtin, plain]"),
    ("not-honoured-in-its-map", "app: hello\nruntimes: [{plain: {jit: tracing}}]"),
    ("not-honoured-by-any", "app: hello\njit: tracing\nruntimes: [plain]"),
    ("value", "app: hello\nruntimes: [{nginx-fpm: {pm: statc}}]"),
    (
        "swept-value",
        "app: hello\nruntimes: [{plain: {sweep: {workers: [1, 2], max_requests: [0, -5]}}}]",
    ),
    ("swept-name", "app: hello\nruntimes: [{plain: {sweep: {wrokers: [1, 2]}}}]"),
    ("program-not-there", "app: hello\nruntimes: [{plain: {sh: ./no/sh}}]"),
    ("program-not-executable", "app: hello\nruntimes: [{plain: {sh: ./empty/readme.txt}}]"),
    ("swept-program", "app: hello\nruntimes: [{plain: {sweep: {sh: [/bin/sh, /no/sh]}}}]"),
    ("file-not-there", "app: hello\nruntimes: [{nginx-fpm: {append: {ngin.conf: x}}}]"),
    ("no-files", "app: hello\nruntimes: [{plain: {append: {php.ini: x}}}]"),
    ("append-as-a-key", "app: hello\nruntimes: [{nginx-fpm: {append.nginx.conf: x}}]"),
    ("directory-not-there", "app: ./shop\nruntimes: [plain]"),
    ("directory-without-app", "apps: [hello, ./empty]\nruntimes: [plain]"),
    ("unknown-app", "apps: [hello, helo]\nruntimes: [plain]"),
    ("directory-as-a-name", "app: empty\nruntimes: [plain]"),
    ("wrong-kind", "app: hello\nruntimes: [plain, {few: {use: picky, workers: 2}}]"),
    ("external", "app: hello\nruntimes: [external: {url: \"http://127.0.0.1:1\"}]"),
];

/// Mistakes in flags: a name, the app, the runtimes.
const FLAGS: &[(&str, &str, &str)] = &[
    ("flag-unknown-app", "helo", "plain"),
    ("flag-directory-not-there", "./shop", "plain"),
    ("flag-directory-without-app", "hello,./empty", "plain"),
    ("flag-directory-as-a-name", "empty", "plain"),
    ("flag-unknown-runtime", "hello", "plain,plian"),
    ("flag-wrong-kind", "hello", "plain,picky"),
];

#[test]
fn mistakes_are_shown_at_their_place() {
    let sandbox = Sandbox::new();
    sandbox.write("runtimes/picky/runtime.yaml", PICKY);
    sandbox.write("runtimes/plain/runtime.yaml", &plain());
    sandbox.write("runtimes/closing/runtime.yaml", &closing());
    sandbox.write("empty/readme.txt", "no app here");
    let refused = |name: &str, args: &[&str]| {
        let mut command = sandbox.stampede(args);
        command.env("STAMPEDE_RUNTIMES", sandbox.path().join("runtimes"));
        let output = finish(command, LIMIT);
        let err = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{name}: {}{err}", stdout(&output));
        assert_eq!(stdout(&output), "", "{name}");
        err + "\n"
    };
    let mut shown = String::new();
    for (name, lines) in MISTAKES {
        let file = format!("{name}.yaml");
        let load = match lines.contains("\nload:") {
            true => "",
            false => "load: [{concurrency: 4, for: 20s}]\n",
        };
        sandbox.write(&file, &format!("{lines}\n{load}"));
        shown += &refused(name, &["compare", &file]);
    }
    let settings = without_runtimes(&["closing", "picky", "plain"], &["jit"]);
    settings.bind(|| assert_words!("mistakes", shown));
    let mut shown = String::new();
    for (name, app, runtimes) in FLAGS {
        let args =
            ["compare", "--app", app, "--runtimes", runtimes, "--concurrency", "4", "--for", "1s"];
        shown += &refused(name, &args);
    }
    // A flag overrides the plan, so the message names the flag as the place.
    shown += &refused("flag-over-plan", &["compare", "unknown-app.yaml", "--app", "./shop"]);
    settings.bind(|| assert_words!("mistakes-in-flags", shown));
    assert!(!sandbox.path().join("stampede-results").exists(), "something was written");
    assert_eq!(sandbox.left_behind(), Vec::<String>::new());
}

/// Raw lines for a configuration file are in the file, in force and in the record. A program named
/// in the plan is the one that is started.
#[test]
fn appended_lines_and_named_programs_reach_the_runtime() {
    if skipped(&["nginx", "php-fpm", "php"]) {
        return;
    }
    let sandbox = Sandbox::new();
    // A program in the plan's own directory: relative paths start there.
    let php = sandbox.path().join("bin/php");
    std::fs::create_dir(sandbox.path().join("bin")).expect("a directory");
    let installed = std::fs::canonicalize("/usr/bin/php").expect("a PHP where Debian has it");
    std::os::unix::fs::symlink(installed, &php).expect("a link");
    let plan = "app: hello
runtimes:
  - nginx-fpm:
      workers: 2
      append: {nginx.conf: \"add_header X-Appended yes;\", php.ini: [date.timezone = Europe/Paris, precision = 9]}
  - php-builtin: {workers: 2, php: ./bin/php, append: {php.ini: date.timezone = Europe/Paris}}
load: [{concurrency: 1, requests: 5}]
warm_up: 0s
";
    sandbox.write("plan.yaml", plan);
    let output = finish(sandbox.stampede(&["compare", "plan.yaml"]), LIMIT);
    let all = stdout(&output) + &stderr(&output);
    let mut seen = 0;
    for trial in std::fs::read_dir(sandbox.run().join("trials")).expect("trials").flatten() {
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
