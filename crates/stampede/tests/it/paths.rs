//! Asks every installed per-request runtime for the paths of `runtimes/common/paths.yaml`, and holds
//! what it does against that file and against the runtime's own list of differences.

use std::fmt::Write as _;

use stampede_plan::model::{AppChoice, Scalar};
use stampede_stack::{Mode, ProcessStack};

use crate::bench_support::Bench;
use crate::paths_support::ask::Client;
use crate::paths_support::reasons::{assert_told, runtimes};
use crate::paths_support::reference::{Differences, Reference};

/// An app of plain scripts and files in a directory of its own.
fn bench_of(reference: &Reference) -> (tempfile::TempDir, Bench) {
    let app = tempfile::tempdir().expect("directory");
    let public = app.path().join("public");
    for (path, text) in reference.app() {
        let file = public.join(path.trim_start_matches('/'));
        std::fs::create_dir_all(file.parent().expect("a parent")).expect("directory");
        std::fs::write(file, text).expect("file");
    }
    let bench = Bench::new(&AppChoice::directory(app.path().into()));
    (app, bench)
}

fn per_request(bench: &Bench) -> Vec<String> {
    let names = bench.catalogue.runtime_names().into_iter().map(str::to_owned);
    names.filter(|name| bench.manifest(name).mode == Mode::PerRequest).collect()
}

/// What the runtime does in another way than it should, a line for each.
fn wrong(running: &ProcessStack, reference: &Reference, differences: &Differences) -> Vec<String> {
    let client = Client::new(&running.url());
    let mut lines = Vec::new();
    for request in &reference.requests {
        let request = differences.applied_to(request);
        let seen = client.seen(&request);
        for (what, wanted) in request.wanted(reference, differences, client.port()) {
            let seen = seen.get(&what).cloned().flatten();
            if seen != wanted {
                let shown = |value: Option<String>| {
                    value.map_or("nothing".into(), |text| format!("{text:?}"))
                };
                lines.push(format!(
                    "{}: {what} is {}, not {}",
                    request.ask,
                    shown(seen),
                    shown(wanted)
                ));
            }
        }
    }
    lines
}

#[test]
fn every_runtime_does_the_same_with_a_path() {
    let reference = Reference::read();
    let (_app, bench) = bench_of(&reference);
    let mut found = String::new();
    for name in per_request(&bench) {
        let settings = [("workers", Scalar::Int(2))];
        let Some(running) = bench.start(&name, &settings) else { continue };
        let lines = wrong(&running, &reference, &Differences::of(&name));
        running.stop().expect("stop");
        if !lines.is_empty() {
            let _ = writeln!(found, "\n{name}:\n  {}", lines.join("\n  "));
        }
    }
    assert!(found.is_empty(), "{found}");
}

/// nginx as a front changes nothing of what a request means.
#[test]
fn a_front_passes_everything_on() {
    let reference = Reference::read();
    let (_app, bench) = bench_of(&reference);
    let settings = [("workers", Scalar::Int(2)), ("front", Scalar::Text("nginx".into()))];
    let Some(running) = bench.start("apache-fpm", &settings) else { return };
    let lines = wrong(&running, &reference, &Differences::of("apache-fpm"));
    running.stop().expect("stop");
    assert!(lines.is_empty(), "\n  {}", lines.join("\n  "));
}

/// A runtime that keeps the app in memory serves files, or its rows say that it does not.
#[test]
#[ignore = "long: 20 s"]
fn a_worker_serves_files_or_says_that_it_does_not() {
    let app = tempfile::tempdir().expect("directory");
    let write = |file: &str, text: &str| {
        std::fs::create_dir_all(app.path().join("public")).expect("directory");
        std::fs::write(app.path().join(file), text).expect("file");
    };
    write("public/index.php", "<?php echo 'app';");
    write("public/a.css", "a{}");
    write(
        "handler.php",
        "<?php return fn () => ['status' => 200, 'headers' => [], 'body' => 'app'];",
    );
    let mut choice = AppChoice::directory(app.path().into());
    choice.settings.kind = Some(stampede_model::app_kind::AppKind::Callable);
    let bench = Bench::new(&choice);
    // Octane needs an app of Laravel.
    let is_meant =
        |name: &str| bench.manifest(name).mode != Mode::PerRequest && !name.starts_with("octane");
    bench.each_of(is_meant, &[("workers", Scalar::Int(1))], |name, running| {
        let text = Client::new(&running.url()).text("/a.css");
        let differences = Differences::of(name);
        let says_no = differences.reasons().any(|reason| reason.starts_with("it serves no files"));
        assert_ne!(text == "a{}", says_no, "{name}: {text}");
    });
}

#[test]
fn the_reference_has_no_request_twice_and_all_differences_are_of_its_requests() {
    let reference = Reference::read();
    let asked: Vec<&str> = reference.requests.iter().map(|request| &*request.ask).collect();
    assert!(asked.len() >= 60, "{}", asked.len());
    for (place, ask) in asked.iter().enumerate() {
        assert!(!asked[..place].contains(ask), "{ask} is there twice");
    }
    for (name, differences) in Differences::all() {
        for ask in differences.asked() {
            assert!(asked.contains(&ask), "{name}: {ask}");
        }
    }
}

#[test]
fn every_difference_is_in_the_readme_and_on_the_page() {
    let all = runtimes().map(|name| (Differences::of(&name), name));
    let all = all.map(|(differences, name)| {
        (name, differences.reasons().map(str::to_owned).collect::<Vec<_>>())
    });
    assert_told("paths.md", all);
}

#[test]
fn a_wrong_answer_is_told() {
    let mut reference = Reference::read();
    let (_app, bench) = bench_of(&reference);
    let Some(running) = bench.start("php-builtin", &[("workers", Scalar::Int(1))]) else { return };
    for request in &mut reference.requests {
        if request.ask == "GET /x.php/a/b" {
            request.runs = Some("/index.php".into());
        }
    }
    let lines = wrong(&running, &reference, &Differences::of("php-builtin"));
    running.stop().expect("stop");
    assert!(lines.iter().all(|line| line.starts_with("GET /x.php/a/b: ")), "{lines:?}");
    assert!(lines.iter().any(|line| line.contains("SCRIPT_NAME is")), "{lines:?}");
}
