//! Tests that every runtime writes the same messages of PHP, each once.

use std::time::{Duration, Instant};

use stampede_model::app_kind::AppKind;
use stampede_plan::model::{AppChoice, Scalar};
use stampede_stack::{Mode, ProcessStack, Stack as _};

use crate::bench_support::Bench;
use crate::paths_support::ask::Client;

/// Reports everything with `?all`, else what php.ini says. Its own name is in each message.
const SCRIPT: &str = r#"<?php
if (isset($_GET['all'])) {
    error_reporting(E_ALL);
}
if (!class_exists('Old', false)) {
    // A worker has it from an earlier request.
    class Old
    {
    }
}
$file = basename(__FILE__);
$list = [];
$list['missing'];
trigger_error('noticed', E_USER_NOTICE);
$old = new Old;
$old->made = 1;
strlen(null);
error_log("said in $file");
echo 'ok';
"#;

/// The messages of one request, without deprecations: what each contains, and how many there are.
const REPORTED: [(&str, usize); 3] = [("PHP Warning", 1), ("PHP Notice", 1), ("said in", 1)];
/// A property made at runtime is deprecated from PHP 8.2 on, a null for a text from 8.1 on.
const DEPRECATED: [&str; 2] = ["Creation of dynamic property", "Passing null to parameter"];

fn log_lines(running: &ProcessStack, message: &str, script: &str) -> usize {
    let files = running.logs().files();
    let texts = files.iter().map(|file| std::fs::read(file).unwrap_or_default());
    let texts: Vec<String> =
        texts.map(|text| String::from_utf8_lossy(&text).into_owned()).collect();
    let lines = texts.iter().flat_map(|text| text.lines());
    lines.filter(|line| line.contains(message) && line.contains(script)).count()
}

/// Asks for a script, and waits until its last message is in a log.
fn ask(running: &ProcessStack, script: &str, query: &str) {
    assert_eq!(Client::new(&running.url()).text(&format!("/{script}{query}")), "ok");
    let deadline = Instant::now() + Duration::from_secs(10);
    while log_lines(running, "said in", script) == 0 && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Asks each of these runtimes, and counts the messages in its logs.
fn check(bench: &Bench, is_meant: impl Fn(&str) -> bool) {
    bench.each_of(is_meant, &[("workers", Scalar::Int(1))], |name, running| {
        ask(running, "plain.php", "");
        ask(running, "everything.php", "?all");
        // When these messages are there, so is a second copy of the earlier ones.
        ask(running, "last.php", "?all");
        for script in ["plain.php", "everything.php"] {
            for (message, count) in REPORTED {
                let found = log_lines(running, message, script);
                assert_eq!(found, count, "{name}: `{message}` of {script}");
            }
        }
        let deprecated = |script| DEPRECATED.map(|text| log_lines(running, text, script));
        assert_eq!(deprecated("plain.php"), [0, 0], "{name}: as in php.ini-production");
        let everything = deprecated("everything.php");
        assert!(everything.iter().all(|count| *count <= 1), "{name}: {everything:?}");
        assert_eq!(everything[1], 1, "{name}: a deprecation is written where it is reported");
    });
}

/// An app of these scripts, which a worker runs as well as its handler.
fn bench_of(kind: AppKind) -> (tempfile::TempDir, Bench) {
    let app = tempfile::tempdir().expect("directory");
    let write = |file: &str, text: &str| std::fs::write(app.path().join(file), text).expect("file");
    write("index.php", "<?php echo 'ok';");
    write(
        "handler.php",
        "<?php return fn () => ['status' => 200, 'headers' => [], 'body' => 'ok'];",
    );
    for name in ["plain.php", "everything.php", "last.php"] {
        write(name, SCRIPT);
    }
    let mut choice = AppChoice::directory(app.path().into());
    choice.settings.kind = Some(kind);
    (app, Bench::new(&choice))
}

#[test]
fn every_runtime_writes_the_same_messages_once() {
    let (_app, bench) = bench_of(AppKind::Script);
    check(&bench, |name| bench.manifest(name).mode == Mode::PerRequest);
}

/// Octane needs an app of Laravel.
#[test]
fn every_worker_writes_the_same_messages_once() {
    let (_app, bench) = bench_of(AppKind::Callable);
    check(&bench, |name| {
        bench.manifest(name).mode != Mode::PerRequest && !name.starts_with("octane")
    });
}
