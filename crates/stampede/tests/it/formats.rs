//! Tests that runs of every format that stampede has ever written can be read. A newer format, or a
//! directory without a run, must be refused with a clear message.

use std::path::{Path, PathBuf};
use std::process::Command;

use stampede_model::event::{Event, EventListener};
use stampede_model::fact::{Notice, Observation, Traffic};
use stampede_model::record::{FORMAT, LoadModel};
use stampede_results::report::{LoadedRuns, Style};
use stampede_results::store::RunDirectory;

use crate::report_fixture as fixture;
use crate::report_fixture::{MS, Requests, add, case, spread};
use crate::words::code_or;

/// The run of this format, written once when the format was new and never again.
fn kept(format: u32) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../results/tests/runs/format-{format}"))
}

/// Writes the run of the newest format: `STAMPEDE_WRITE=1 cargo test --test formats -- --ignored`.
/// The run of format 1 has sentences where format 2 has facts.
#[test]
#[ignore = "writes what the other tests read"]
fn write() {
    assert!(std::env::var_os("STAMPEDE_WRITE").is_some(), "set STAMPEDE_WRITE to write it anew");
    let rise = "line(1,50,10s)";
    let mut run = fixture::run(
        vec![
            case("nginx-fpm", "rise", "open", rise),
            case("apache-modphp", "rise", "open", rise),
            case("nginx-fpm", "rush", "closed", "4 users for 10s"),
        ],
        1,
    );
    run.record.expect.of_run = vec!["p95 < 50ms".into()];
    for index in 0..3 {
        let answered_ns = spread(300, MS * (index as u64 + 1));
        add(&mut run, index, Requests { answered_ns, ..Requests::default() });
    }
    run.record.format = FORMAT;
    run.record.notices.push(Notice::TimeScale { scale: 0.5 }.into());
    let first = &mut run.trials[0].record;
    first.verdict.notes.push(Traffic::ConnectionsClosed { requests: 3, limit: None }.into());
    if let Some(before) = &mut first.runtime.before {
        before.notices.push(Observation::Visible { what: "class".to_owned() }.into());
    }
    run.trials.iter_mut().for_each(|trial| trial.record.format = FORMAT);
    let directory =
        RunDirectory::create(Some(&kept(FORMAT)), &run.record).expect("a new directory");
    for trial in &run.trials {
        let mut written = directory.trial(&trial.record, "x").expect("a directory");
        for sample in &trial.resources {
            written.event(&Event::Resources(sample));
        }
        written.finish(&trial.record, trial.times.as_ref()).expect("written");
    }
}

#[test]
fn every_format_is_read() {
    for format in 1..=FORMAT {
        let name = kept(format).display().to_string();
        let shown = LoadedRuns::read(Path::new("."), &[name]).expect("it reads");
        let text = stampede_results::report::text(shown.summary(), &Style::plain(160));
        assert_words!(format!("every_format_is_read_{format}"), text);
        let page = shown.page().expect("a page");
        assert_eq!((page.series.len(), page.curves.len(), page.runs.len()), (3, 3, 1));
    }
}

/// Facts that decide something are data in every format. Facts that are only shown may be
/// sentences.
#[test]
fn notes_of_every_format_are_read_as_facts() {
    let codes = |format| {
        let run = stampede_results::store::read_run(&kept(format)).expect("it reads");
        let trial = run.trials[0].record.clone();
        let seen = trial.runtime.before.map(|before| before.notices).unwrap_or_default();
        let notice = run.record.notices.iter().map(|one| one.code());
        let notes = trial.verdict.notes.iter().map(|one| one.code());
        notice.chain(notes).chain(seen.iter().map(|one| one.code())).collect::<Vec<_>>()
    };
    assert_eq!(codes(1), ["text", "text", "visible_later"]);
    assert_eq!(codes(2), ["time_scale", "connections_closed", "visible_later"]);
}

/// Schedules and expectations of old runs are texts, which are parsed once, when the run is read.
#[test]
fn text_of_an_old_run_is_parsed_into_data() {
    let record = stampede_results::store::read_record(&kept(1)).expect("it reads");
    let models: Vec<LoadModel> = record.cases.iter().map(|case| case.model).collect();
    assert_eq!(models, [LoadModel::Open, LoadModel::Open, LoadModel::Closed]);
    let schedules: Vec<Option<String>> =
        record.cases.iter().map(|case| Some(case.schedule.as_ref()?.to_string())).collect();
    assert_eq!(
        schedules,
        [Some("line(1,50,10s)"), Some("line(1,50,10s)"), None].map(|one| one.map(str::to_owned))
    );
    let expected = record.expect.of_run[0].read().expect("it is read");
    assert_eq!((expected.text.as_str(), expected.bound.limit), ("p95 < 50ms", 50e6));
}

/// What `report` prints about the kept run after a replacement in its `run.json`.
fn error_after(from: &str, to: &str) -> String {
    let directory = tempfile::tempdir().expect("a directory");
    let text = std::fs::read_to_string(kept(1).join("run.json")).expect("it is there");
    assert!(text.contains(from));
    std::fs::write(directory.path().join("run.json"), text.replacen(from, to, 1)).expect("written");
    let run = directory.path().display().to_string();
    let output = Command::new(env!("CARGO_BIN_EXE_stampede"))
        .args(["report", &run])
        .output()
        .expect("the binary starts");
    assert_eq!(output.status.code(), Some(2));
    String::from_utf8_lossy(&output.stderr).replace(&run, "RUN")
}

/// These files are beside `run.json` and have formats of their own.
#[test]
fn a_newer_search_or_tuning_is_refused_and_not_shown_as_a_run_of_trials() {
    for name in ["capacity.json", "tune.json"] {
        let directory = tempfile::tempdir().expect("a directory");
        std::fs::copy(kept(1).join("run.json"), directory.path().join("run.json")).expect("copied");
        std::fs::write(directory.path().join(name), "{\"format\": 3, \"new\": []}")
            .expect("written");
        let run = directory.path().display().to_string();
        for format in ["text", "json"] {
            let output = Command::new(env!("CARGO_BIN_EXE_stampede"))
                .args(["report", &run, "--format", format])
                .output()
                .expect("the binary starts");
            let printed = String::from_utf8_lossy(&output.stderr).replace(&run, "RUN");
            assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{printed}");
            let error = format!("`RUN/{name}` has format 3, this stampede knows 2");
            let error = code_or("newer", &error);
            let hint = code_or("newer", "read it with a newer stampede");
            assert_eq!(printed, format!("error: {error}\n\nhint: {hint}\n"));
        }
    }
}

#[test]
fn what_is_newer_or_no_run_is_refused_in_words() {
    let format = "\"format\": 1";
    let printed = [
        error_after(format, &format!("\"format\": {}", FORMAT + 1)),
        error_after(format, "\"format\": \"one\""),
        error_after(format, "\"other\": 1"),
        error_after("\"rounds\"", "\"squares\""),
    ];
    assert_words!(printed.join("\n"));
}
