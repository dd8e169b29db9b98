//! Tests reports of several runs: every format shows them in one report, and compares nothing
//! between them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use stampede_results::store::RunDirectory;
use stampede_results::summary::overlay::overlay;
use stampede_results::summary::{RunData, Summary, summarize};

use crate::report_fixture as fixture;
use crate::report_fixture::{MS, Requests, add, case, spread};

fn run(id: &str, loads: &[(&str, &str)], ms: u64) -> RunData {
    let cases = loads.iter().flat_map(|(load, text)| {
        ["nginx-fpm", "php-builtin"].map(|runtime| case(runtime, load, "open", text))
    });
    let mut run = fixture::run(cases.collect(), 1);
    run.record.id = id.to_owned();
    for index in 0..run.record.cases.len() {
        let answered_ns = spread(2_000, ms * MS + 1_000 * index as u64);
        add(&mut run, index, Requests { answered_ns, ..Requests::default() });
    }
    run
}

fn write(directory: &Path, run: &RunData) -> PathBuf {
    let path = directory.join(&run.record.id);
    let written = RunDirectory::create(Some(&path), &run.record).expect("a run's directory");
    for trial in &run.trials {
        let ended = written.trial(&trial.record, "x").expect("a directory");
        ended.finish(&trial.record, trial.times.as_ref()).expect("written");
    }
    path
}

fn stampede(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stampede"));
    command.args(arguments).current_dir(directory).output().expect("the binary starts")
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn the_same_load_is_one_group_and_another_of_its_name_is_not() {
    let a = summarize(&run("a", &[("day", "const(5,10s)"), ("rush", "const(50,10s)")], 1));
    let b = summarize(&run("b", &[("day", "const(5,10s)"), ("rush", "const(60,10s)")], 2));
    let laid = overlay(&[&a, &b]);
    let loads: Vec<&str> = laid.summary.groups.iter().map(|group| group.load.as_str()).collect();
    assert_eq!(loads, ["day", "rush", "rush (B)"]);
    let day: Vec<&str> =
        laid.summary.cases_of(&laid.summary.groups[0]).map(|case| case.runtime.as_str()).collect();
    assert_eq!(day, ["nginx-fpm (A)", "php-builtin (A)", "nginx-fpm (B)", "php-builtin (B)"]);
    for group in &laid.summary.groups {
        assert!(group.baseline.is_none() && group.comparisons.is_empty(), "{group:?}");
    }
    let sentences = |run: &Summary| run.groups[0].sentence.clone();
    let combined = format!("A: {}\nB: {}", sentences(&a), sentences(&b));
    assert_eq!(laid.summary.groups[0].sentence, combined);
    // Every case is at the place that the overlay says.
    for (run, (summary, places)) in [&a, &b].into_iter().zip(&laid.cases).enumerate() {
        for (case, place) in summary.cases.iter().zip(places) {
            let there = &laid.summary.cases[*place];
            assert_eq!(laid.names[&there.runtime], (case.runtime.clone(), run));
            assert_eq!((&there.figures, &there.app), (&case.figures, &case.app));
        }
    }
}

#[test]
fn every_format_shows_several_runs() {
    let directory = tempfile::tempdir().expect("a directory");
    write(directory.path(), &run("first", &[("day", "const(5,10s)")], 1));
    let mut other = run("second", &[("day", "const(5,10s)")], 2);
    other.record.machine["cpu_model"] = "Another".into();
    write(directory.path(), &other);

    let text = stampede(directory.path(), &["report", "first", "second"]);
    assert!(text.status.success(), "{}", stderr(&text));
    assert_words!(stdout(&text));
    let name = "first+second.html";
    assert_eq!(stderr(&text), format!("report: {name}\n"));
    let page = std::fs::read_to_string(directory.path().join(name)).expect("the page");
    let (_, data) = page.split_once("id=\"data\">").expect("its data");
    let data: Value =
        serde_json::from_str(data.split_once("</script>").expect("its end").0).expect("JSON");
    assert_eq!(
        data["names"]["php-builtin (B)"],
        serde_json::json!({"runtime": "php-builtin", "run": 1})
    );
    assert_eq!(
        (&data["runs"][0]["label"], &data["runs"][1]["run"]),
        (&"A".into(), &"second".into())
    );
    for curve in data["curves"].as_array().expect("a list") {
        let case = &data["summary"]["cases"][curve["case"].as_u64().expect("an index") as usize];
        assert_eq!(case["verdict"], "valid");
    }
    let evidence = data["evidence"]["trials"].as_array().expect("a list");
    let runs: Vec<u64> = evidence.iter().filter_map(|trial| trial["run"].as_u64()).collect();
    assert_eq!(runs, [0, 0, 1, 1]);
    for format in ["markdown", "csv", "json"] {
        let shown = stampede(directory.path(), &["report", "first", "second", "--format", format]);
        assert!(shown.status.success(), "{}", stderr(&shown));
        for name in ["nginx-fpm (A)", "nginx-fpm (B)", "php-builtin (A)", "php-builtin (B)"] {
            let plain = stdout(&shown).replace('\u{a0}', " ");
            assert!(plain.contains(name), "{format}: {plain}");
        }
    }
}

#[test]
fn a_run_is_not_laid_over_itself() {
    let directory = tempfile::tempdir().expect("a directory");
    write(directory.path(), &run("first", &[("day", "const(5,10s)")], 1));
    let twice = stampede(directory.path(), &["report", "first", "first"]);
    assert_eq!(twice.status.code(), Some(2));
    assert_words!(stderr(&twice));
}
