//! Tests `stampede history` over many runs: rows over time, lasting changes, the control, CSV and
//! JSON.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use stampede_model::event::{Event, EventListener as _};
use stampede_model::record::{ControlRecord, Validity, WorkingTreeRecord};
use stampede_results::store::RunDirectory;
use stampede_results::summary::RunData;
use stampede_stats::random::Random;

use crate::report_fixture as fixture;
use crate::report_fixture::{MS, Requests, add, case, spread};
use crate::serve::{ServeProcess, data_of};

/// The CPU that the rows of a run use, as a factor: of `nginx-fpm`, then of `php-builtin`.
struct Factors(f64, f64);

/// A run with two rows in three rounds: 400 answers in 10 s, each trial with 1 % of noise.
fn run(number: usize, factors: &Factors) -> RunData {
    let cases = ["nginx-fpm", "php-builtin"].map(|name| case(name, "day", "open", "const(40,10s)"));
    let mut run = fixture::run(cases.to_vec(), 3);
    run.record.id = format!("run-{number:02}");
    run.record.started_at = format!("2026-10-{:02}T09:00:00+00:00", number + 1);
    let mut random = Random::with_seed(number as u64);
    for _ in 0..3 {
        for (index, factor) in [factors.0, factors.1].into_iter().enumerate() {
            let cpus = 0.5 * factor * (0.01 * random.normal()).exp();
            let spent = vec![(cpus, 0.0, 64 << 20, 8 << 20); 10];
            let answered_ns = spread(400, 2 * MS + 10_000 * (random.below(9) as u64));
            add(&mut run, index, Requests { answered_ns, spent, ..Requests::default() });
        }
    }
    run
}

fn write(results: &Path, run: &RunData) {
    let path = results.join(&run.record.id);
    let directory = RunDirectory::create(Some(&path), &run.record).expect("a run's directory");
    for trial in &run.trials {
        let mut ended = directory.trial(&trial.record, "x").expect("a directory");
        trial.resources.iter().for_each(|sample| ended.event(&Event::Resources(sample)));
        ended.finish(&trial.record, trial.times.as_ref()).expect("written");
    }
    directory.close();
}

fn history(results: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stampede"));
    command.arg("history").arg("--in").arg(results).args(args);
    let output = command.env("LC_ALL", "C.UTF-8").output().expect("the binary starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// From the ninth of fourteen runs on, nginx-fpm needs 10 % more CPU, and has another PHP.
fn with_a_step(change: impl Fn(usize, &mut RunData)) -> tempfile::TempDir {
    let results = tempfile::tempdir().expect("a directory");
    for number in 0..14 {
        let later = number >= 8;
        let mut run = run(number, &Factors(if later { 1.1 } else { 1.0 }, 1.0));
        if later {
            for trial in run.trials.iter_mut().filter(|trial| trial.record.case == 0) {
                for seen in [&mut trial.record.runtime.before, &mut trial.record.runtime.after] {
                    seen.iter_mut().for_each(|seen| seen.php_version = "8.2.30".to_owned());
                }
            }
        }
        change(number, &mut run);
        write(results.path(), &run);
    }
    results
}

/// The changes of a history: run, row, figure, ratio.
fn changes(results: &Path) -> Vec<(String, String, String, f64)> {
    let json: Value =
        serde_json::from_slice(&history(results, &["--format", "json"]).stdout).expect("JSON");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut found = Vec::new();
    for run in json.as_array().expect("a list") {
        for case in run["cases"].as_array().expect("cases") {
            for figure in case["figures"].as_array().expect("figures") {
                if let Some(ratio) = figure["change"]["ratio"]["value"].as_f64() {
                    let figure = text(&figure["figure"]);
                    found.push((text(&run["name"]), text(&case["runtime"]), figure, ratio));
                }
            }
        }
    }
    found
}

#[test]
fn a_lasting_change_is_told_with_what_else_changed() {
    let results = with_a_step(|_, _| {});
    let found = changes(results.path());
    let [(run, runtime, figure, ratio)] = &found[..] else { panic!("{found:?}") };
    assert_eq!(
        (run.as_str(), runtime.as_str(), figure.as_str()),
        ("run-08", "nginx-fpm", "cpu_cost")
    );
    assert!((1.08..1.12).contains(ratio), "{ratio}");
    let printed = text(&history(results.path(), &["-n", "14"]));
    let (_, drawn) = printed.split_once("\n\nnginx-fpm").expect("the rows after the list");
    assert_words!("drawn", drawn);
    assert_words!("figure", text(&history(results.path(), &["--figure", "cpu_cost"])));
    let json = text(&history(results.path(), &["--json"]));
    assert_eq!(json, text(&history(results.path(), &["--format", "json"])));
    let json: Value = serde_json::from_str(&json).expect("JSON");
    let case = json[5]["cases"].as_array().expect("cases").iter();
    let case = case.clone().find(|case| case["runtime"] == "nginx-fpm").expect("the row");
    let figures = case["figures"].as_array().expect("figures");
    let cost = figures.iter().find(|one| one["figure"] == "cpu_cost").expect("the figure");
    assert_eq!(cost["change"]["before"], "run-07");
    let php = serde_json::json!({
        "what": "PHP", "of": ["nginx-fpm"], "base": "8.2.29", "other": "8.2.30"
    });
    assert_eq!(cost["change"]["differences"], serde_json::json!([php]));
}

/// A machine that became slower: both rows need a quarter more CPU. The control shares it.
#[test]
fn the_control_takes_out_what_it_shares() {
    let of = |control: Option<ControlRecord>| {
        let results = tempfile::tempdir().expect("a directory");
        for number in 0..14 {
            let mood = if number >= 7 { 1.25 } else { 1.0 };
            let own = if number >= 9 { 1.1 } else { 1.0 };
            let mut run = run(number, &Factors(mood * own, mood));
            run.record.control = control.clone();
            write(results.path(), &run);
        }
        let printed = text(&history(results.path(), &["-n", "14"]));
        let is_drawn = printed.contains("\n  of control ");
        assert_eq!(is_drawn, control.is_some_and(|control| control.app.is_none()), "{printed}");
        changes(results.path())
    };
    let control = ControlRecord { runtime: "php-builtin".to_owned(), app: None };
    let with_control = of(Some(control.clone()));
    let of_row = |found: &[(String, String, String, f64)], row: &str| -> Vec<String> {
        found.iter().filter(|one| one.1 == row).map(|one| one.0.clone()).collect()
    };
    assert_eq!(of_row(&with_control, "nginx-fpm"), ["run-09"], "{with_control:?}");
    assert_eq!(of_row(&with_control, "php-builtin"), ["run-07"], "{with_control:?}");
    let without = of(None);
    assert_eq!(of_row(&without, "nginx-fpm"), ["run-07"], "{without:?}");
    // An app that no run has is no control.
    let other = of(Some(ControlRecord { app: Some("shop".to_owned()), ..control }));
    assert_eq!(other, without);
}

#[test]
fn csv_has_a_line_for_each_row_of_each_run() {
    let results = with_a_step(|number, run| {
        // The second run has a row without a trial that counts, the third another load.
        let of_first = run.trials.iter_mut().filter(|trial| trial.record.case == 0);
        if number == 1 {
            of_first.for_each(|trial| trial.record.verdict.judged = Validity::Invalid);
        }
        if number == 2 {
            run.record.cases[0].load_text = "const(41,10s)".to_owned();
        }
        if number == 3 {
            let commit = "0123456789abcdef0123456789abcdef01234567".to_owned();
            run.record.working_tree = Some(WorkingTreeRecord { commit });
        }
    });
    let csv = text(&history(results.path(), &["--format", "csv"]));
    // No field of these runs has a quote in it: what is between quotes is one field.
    let whole = csv.replace("\"const(40,10s)\"", "day").replace("\"const(41,10s)\"", "other");
    let lines: Vec<Vec<&str>> = whole.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(lines.len(), 1 + 14 * 2);
    let place = |name: &str| {
        lines[0].iter().position(|column| *column == name).unwrap_or_else(|| panic!("no {name}"))
    };
    let row = |run: &str, runtime: &str| {
        let is_it =
            |line: &&Vec<&str>| line[place("run")] == run && line[place("runtime")] == runtime;
        lines.iter().find(is_it).expect("a line")
    };
    let [value, low, high] = ["cpu_cost_us", "cpu_cost_us_low", "cpu_cost_us_high"]
        .map(|column| row("run-00", "nginx-fpm")[place(column)].parse::<f64>().expect("a number"));
    // 0.5 CPUs for 10 s and 400 answers.
    assert!((value / 12_500.0 - 1.0).abs() < 0.03 && low < value && value < high, "{value}");
    let invalid = row("run-01", "nginx-fpm");
    assert_eq!(invalid[place("verdict")], "invalid");
    assert_eq!(invalid[place("trials_counted")], "0");
    let figures = place("response_time_ns_p50")..place("changes");
    assert!(invalid[figures].iter().all(|field| field.is_empty()), "{invalid:?}");
    assert_eq!(row("run-08", "nginx-fpm")[place("changes")].split(' ').next(), Some("cpu_cost"));
    assert_eq!(row("run-00", "php-builtin")[place("service_time_ns_p50")], "");
    let commit = |run: &str| {
        [row(run, "nginx-fpm")[place("commit")], row(run, "nginx-fpm")[place("changed_files")]]
    };
    assert_eq!(commit("run-03"), ["0123456789abcdef0123456789abcdef01234567", ""]);
    assert_eq!(commit("run-04"), ["", ""], "an app that is in no repository");
    let json = history(results.path(), &["--json"]);
    let runs = serde_json::from_slice::<Value>(&json.stdout).expect("JSON");
    assert_eq!(runs.as_array().map(Vec::len), Some(14));
}

#[test]
fn too_few_runs_and_a_figure_that_none_has_are_said() {
    let results = tempfile::tempdir().expect("a directory");
    write(results.path(), &run(0, &Factors(1.0, 1.0)));
    assert!(!text(&history(results.path(), &[])).contains("lasting change"));
    let none = history(results.path(), &["--figure", "p95"]);
    let errors = String::from_utf8_lossy(&none.stderr).into_owned();
    assert!(none.stdout.is_empty() && errors.contains("no two runs of"), "{errors}");
    write(results.path(), &run(1, &Factors(1.0, 1.0)));
    assert!(text(&history(results.path(), &[])).contains("10 runs or more"));
}

/// `serve` draws the rows over the runs from the same figures.
#[test]
fn rows_over_the_runs_are_served_with_their_changes() {
    let control = ControlRecord { runtime: "php-builtin".to_owned(), app: None };
    let results = with_a_step(|number, run| {
        if number == 3 {
            run.record.cases[0].load_text = "const(41,10s)".to_owned();
        }
        run.record.control = Some(control.clone());
    });
    let served = ServeProcess::visited(results.path());
    let (_, list) = served.get("/");
    let place = data_of(&list)["served"]["rows"].as_str().expect("an address").to_owned();
    let (status, page) = served.get(&place);
    assert_eq!(status, 200, "{page}");
    let data = data_of(&page);
    let rows = data["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 2, "a load that one run alone has is no row");
    let row = rows.iter().find(|row| row["runtime"] == "nginx-fpm").expect("a row");
    assert_eq!(row["runs"].as_array().map(Vec::len), Some(13));
    let figures = row["figures"].as_array().expect("figures");
    let of = |title: &str| figures.iter().find(|one| one["title"] == title).expect("a figure");
    assert_eq!(of("CPU/request")["changes"], serde_json::json!([]), "the control tells");
    let ratio = of("CPU/request ÷ that of the control php-builtin");
    let [change] = &ratio["changes"].as_array().expect("changes")[..] else { panic!("{ratio:#}") };
    assert_eq!((change["at"].as_u64(), change["is_worse"].as_bool()), (Some(7), Some(true)));
    let first = row["runs"][0]["name"].as_str().expect("a name");
    let page = data["pages"][first].as_str().expect("an address");
    assert_eq!(served.get(page).0, 200, "a dot leads to its run");
    served.end();
}
