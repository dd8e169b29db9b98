//! Tests that records, rows and histograms are read as they were written, even if incomplete.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::to_value;
use stampede_model::counts::{Connections, Counts, End, Second, TimeSet};
use stampede_model::event::{Event, EventListener, Phase};
use stampede_model::fact::Fact;
use stampede_model::fact::stored::Damage;
use stampede_model::isolation::{Exit, IsolationRecord};
use stampede_model::record::{
    CaseRecord, ErrorRecord, FORMAT, LoadModel, LoadRecord, PhaseRecord, RunRecord, RuntimeRecord,
    SecondRecord, TrialRecord, Validity, Verdict,
};
use stampede_model::sample::ResourceSample;
use stampede_model::schedule::Segments;
use stampede_model::time::Nanos;
use stampede_results::store::{
    RunDirectory, StoreError, StoredTrial, begun_after, read_below, runs,
};
use stampede_stats::histogram::Times;

fn run_record(id: &str, started_at: &str) -> RunRecord {
    RunRecord {
        plan_text: "app: hello\n".to_owned(),
        flags: vec!["--rounds=2".to_owned()],
        seed: 7,
        rounds: 1,
        cases: vec![CaseRecord {
            runtime: "nginx-fpm".to_owned(),
            app: "hello".to_owned(),
            load: "day".to_owned(),
            model: LoadModel::Open,
            load_text: "const(200,60s)".to_owned(),
            schedule: Segments::parse("const(200,60s)").ok(),
            closed: None,
            refused: None,
            sent: None,
        }],
        order: vec![vec![0]],
        expect: Default::default(),
        machine: serde_json::json!({"kernel": "6.1"}),
        notices: Vec::new(),
        ..RunRecord::empty(id.to_owned(), "0.1.0".to_owned(), started_at.to_owned())
    }
}

fn trial_record(number: u32, load: Option<LoadRecord>) -> TrialRecord {
    TrialRecord {
        format: FORMAT,
        number,
        continues: None,
        round: 1,
        case: 0,
        started_at: "2026-11-21T03:51:51+01:00".to_owned(),
        phases: vec![PhaseRecord { phase: "start".to_owned(), begin_ns: 0, end_ns: 5 }],
        load,
        runtime: RuntimeRecord::default(),
        isolation: IsolationRecord::default(),
        budget_cpus: stampede_model::cpus::CpuCount::whole(1),
        budget_unequal: false,
        exits: vec![Exit { process: 0, role: "php".to_owned(), code: Some(0), signal: None }],
        verdict: Verdict { judged: Validity::Valid, reasons: Vec::new(), notes: Vec::new() },
    }
}

fn load_record(counts: Counts, share: f64) -> LoadRecord {
    LoadRecord {
        counts,
        scheduled_ns: 60_000_000_000,
        lasted_ns: 60_100_000_000,
        ok_inside: 5,
        in_flight_max: 3,
        in_flight_mean: None,
        littles_law_ratio: share,
        connections: Connections {
            opened: 2,
            never_answered: 0,
            sources: 1,
            ..Connections::default()
        },
        busy_share_max: share / 3.0,
        stretched: 1.0,
        schedule_lag_ns_p99: 12_345,
        lag_marks: Vec::new(),
        clipped: 0,
        timeout_ns: 11_000_000_000,
        keep_alive: true,
        client: "stampede".to_owned(),
        end: End::Complete,
        agents: Vec::new(),
    }
}

fn times_of(ns: &[u64]) -> Times {
    let mut times = Times::new();
    ns.iter().for_each(|ns| times.record(*ns));
    times
}

fn second(index: u32, service: &[u64], failed: &[(&str, u64)]) -> Second {
    let failed: BTreeMap<String, u64> =
        failed.iter().map(|(kind, count)| ((*kind).to_owned(), *count)).collect();
    let ok = service.len() as u64;
    let counts = Counts { planned: ok, started: ok, ok, failed, dropped: 2, ..Counts::default() };
    let times = TimeSet { service_time: times_of(service), ..TimeSet::empty() };
    Second { index, counts, times, in_flight_max: 4, busy: Nanos(99) }
}

/// Writes a finished trial of two seconds below `run`.
fn two_seconds(run: &RunDirectory, number: u32) -> std::path::PathBuf {
    let mut trial =
        run.trial(&trial_record(number, None), "nginx-fpm hello day").expect("a directory");
    let mut totals = TimeSet::empty();
    for (index, service) in [[1_000_000, 2_000_000], [3_000_000, 40_000_000]].iter().enumerate() {
        let second = second(index as u32, service, &[("http:502", 3)]);
        totals.service_time.merge(&second.times.service_time);
        trial.event(&Event::Second(&second));
        let sample = ResourceSample { at_ns: index as u64 + 1, ..ResourceSample::default() };
        trial.event(&Event::Resources(&sample));
    }
    let record = trial_record(number, Some(load_record(Counts::default(), 1.0)));
    trial.finish(&record, Some(&totals)).expect("written")
}

fn only_trial(results: &Path) -> StoredTrial {
    let mut run = read_below(results, "last").expect("it reads");
    assert_eq!(run.trials.len(), 1);
    run.trials.remove(0)
}

fn new_run(results: &Path, id: &str, started_at: &str) -> RunDirectory {
    RunDirectory::create(Some(&results.join(id)), &run_record(id, started_at))
        .expect("a new directory")
}

const MORNING: &str = "2026-11-21T03:51:51+01:00";

#[test]
fn a_trial_is_read_back_as_it_was_recorded() {
    let results = tempfile::tempdir().expect("a directory");
    let run = new_run(results.path(), "a", MORNING);
    let directory = two_seconds(&run, 7);
    assert_eq!(directory, run.path().join("trials/007-nginx-fpm-hello-day"));

    let trial = only_trial(results.path());
    let seconds = trial.seconds().expect("seconds");
    assert_eq!(seconds.notice, None);
    let expected = |index| {
        let recorded = second(index, &[1, 1], &[("http:502", 3)]);
        SecondRecord { second: index, counts: recorded.counts, in_flight_max: 4, busy_ns: 99 }
    };
    assert_eq!(seconds.rows, [expected(0), expected(1)]);
    let at: Vec<u64> =
        trial.resources().expect("resources").rows.iter().map(|row| row.at_ns).collect();
    assert_eq!(at, [1, 2]);
    let error = |second, kind: &str, count| ErrorRecord { second, kind: kind.to_owned(), count };
    let errors = trial.errors().expect("errors").rows;
    let both = |second| [error(second, "http:502", 3), error(second, "dropped", 2)];
    assert_eq!(errors, [both(0), both(1)].concat());

    let totals = trial.totals().expect("totals");
    let all = times_of(&[1_000_000, 2_000_000, 3_000_000, 40_000_000]);
    assert_eq!(totals.service_time.histogram(), all.histogram());
    assert!(totals.response_time.is_empty() && totals.schedule_lag.is_empty());
    let mut by_second = Vec::new();
    let take = |index, times: &TimeSet| by_second.push((index, times.service_time.len()));
    assert_eq!(trial.times_by_second(take).expect("times"), None);
    assert_eq!(by_second, [(0, 2), (1, 2)]);
}

/// The monitor's rows come from another thread.
#[test]
fn a_trial_directory_may_move_to_another_thread() {
    let results = tempfile::tempdir().expect("a directory");
    let run = new_run(results.path(), "a", MORNING);
    let mut trial = run.trial(&trial_record(1, None), "x").expect("a directory");
    let moved = std::thread::spawn(move || {
        trial.event(&Event::Resources(&ResourceSample::default()));
        trial.finish(&trial_record(1, None), None)
    });
    moved.join().expect("no panic").expect("written");
    assert_eq!(only_trial(results.path()).resources().expect("rows").rows.len(), 1);
}

#[test]
fn the_warm_up_is_discarded() {
    let results = tempfile::tempdir().expect("a directory");
    let run = new_run(results.path(), "a", MORNING);
    let mut trial = run.trial(&trial_record(1, None), "x").expect("a directory");
    for (phase, index) in [(Phase::WarmUp, 0), (Phase::WarmUp, 1), (Phase::Measure, 0)] {
        trial.event(&Event::Phase { phase, expected: None });
        trial.event(&Event::Second(&second(index, &[5_000_000], &[])));
    }
    trial.event(&Event::Phase { phase: Phase::Drain, expected: None });
    trial.event(&Event::Second(&second(1, &[5_000_000], &[])));
    trial.finish(&trial_record(1, None), None).expect("written");
    let seconds = only_trial(results.path()).seconds().expect("seconds").rows;
    assert_eq!(seconds.iter().map(|row| row.second).collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn a_trial_cut_off_is_unfinished_and_its_torn_line_is_a_notice() {
    let results = tempfile::tempdir().expect("a directory");
    let run = new_run(results.path(), "a", MORNING);
    let finished = two_seconds(&run, 1);
    let cut_off = run.trial(&trial_record(2, None), "x").expect("a directory");
    let cut_off_path = cut_off.path().to_owned();
    drop(cut_off);
    let stored = read_below(results.path(), "a").expect("it reads");
    assert_eq!(stored.trials.len(), 1);
    assert_eq!(stored.unfinished, [cut_off_path]);

    for name in ["seconds.ndjson", "seconds.hlog"] {
        let path = finished.join(name);
        let mut bytes = fs::read(&path).expect("written");
        bytes.truncate(bytes.len() - 9);
        fs::write(&path, bytes).expect("torn");
    }
    let trial = &stored.trials[0];
    let seconds = trial.seconds().expect("tolerated");
    assert_eq!(seconds.rows.len(), 1);
    let is_torn = |damage: Option<Damage>, name: &str| matches!(damage, Some(Damage::Torn { path }) if path.ends_with(name));
    assert!(is_torn(seconds.notice, "seconds.ndjson"));
    let mut seen = Vec::new();
    let notice = trial.times_by_second(|index, _| seen.push(index)).expect("tolerated");
    assert!(is_torn(notice, "seconds.hlog"));
    assert_eq!(seen, [0]);
}

#[test]
fn a_damaged_line_in_the_middle_is_an_error_that_names_it() {
    let results = tempfile::tempdir().expect("a directory");
    let run = new_run(results.path(), "a", MORNING);
    let directory = two_seconds(&run, 1);
    let text = fs::read_to_string(directory.join("seconds.ndjson")).expect("written");
    fs::write(directory.join("seconds.ndjson"), text.replacen("{\"second\":0", "{\"sec", 1))
        .expect("damaged");
    let text = fs::read_to_string(directory.join("seconds.hlog")).expect("written");
    fs::write(directory.join("seconds.hlog"), text.replacen("Tag=service_time,0.000", "Tag=", 1))
        .expect("damaged");
    let trial = only_trial(results.path());
    let error = trial.seconds().expect_err("damaged");
    assert!(matches!(error, StoreError::Damaged { line: 1, .. }), "{error}");
    // The head's two lines come first.
    let error = trial.times_by_second(|_, _| {}).expect_err("damaged");
    assert!(matches!(error, StoreError::DamagedHistogram { line: 3, .. }), "{error}");
}

#[test]
fn a_newer_format_is_refused() {
    let results = tempfile::tempdir().expect("a directory");
    let run = new_run(results.path(), "a", MORNING);
    let newer = format!("{{\"format\": {}, \"unheard\": 1}}", FORMAT + 1);
    fs::write(run.path().join("run.json"), newer).expect("written");
    let error = read_below(results.path(), "a").expect_err("newer");
    assert!(matches!(error, StoreError::Newer { format, .. } if format == u64::from(FORMAT) + 1));
}

#[test]
fn a_directory_that_exists_is_left_alone() {
    let results = tempfile::tempdir().expect("a directory");
    let out = results.path().join("kept");
    fs::create_dir(&out).expect("a directory");
    let error = RunDirectory::create(Some(&out), &run_record("a", MORNING)).expect_err("it exists");
    assert!(matches!(error, StoreError::Exists { .. }));
    assert_eq!(fs::read_dir(&out).expect("still there").count(), 0);
}

#[test]
fn last_is_by_start_time_and_not_by_name() {
    let results = tempfile::tempdir().expect("a directory");
    // 03:51 in Berlin is earlier than 03:30 in London.
    new_run(results.path(), "z-first", "2026-11-21T03:51:00+01:00");
    new_run(results.path(), "a-second", "2026-11-21T03:30:00+00:00");
    fs::create_dir(results.path().join("no-run")).expect("a directory");
    assert_eq!(runs(results.path()).len(), 2);
    let id = |name: &str| read_below(results.path(), name).map(|run| run.record.id);
    assert_eq!(id("last").expect("a run"), "a-second");
    assert_eq!(id("last~0").expect("a run"), "a-second");
    assert_eq!(id("last~1").expect("a run"), "z-first");
    assert_eq!(id("z-first").expect("a run"), "z-first");
    let by_path = results.path().join("z-first");
    assert_eq!(id(by_path.to_str().expect("text")).expect("a run"), "z-first");
    for absent in ["last~2", "last~x", "lastly", ""] {
        let error = id(absent).expect_err(absent);
        assert!(
            matches!(error, StoreError::NoRun { ref known, .. } if known.len() == 2),
            "{error}"
        );
    }
    for other in ["no-run", ".."] {
        let error = id(other).expect_err(other);
        assert!(matches!(error, StoreError::NotARun { .. }), "{error}");
    }
}

#[test]
fn a_clock_that_was_set_back_is_noticed() {
    let results = tempfile::tempdir().expect("a directory");
    assert_eq!(begun_after(results.path(), MORNING), None, "there is no run");
    new_run(results.path(), "noon", "2026-11-21T12:00:00+01:00");
    new_run(results.path(), "early", "2026-11-21T03:00:00Z");
    let noon = Some(("noon".to_owned(), "2026-11-21T12:00:00+01:00".to_owned()));
    assert_eq!(begun_after(results.path(), "2026-11-21T10:59:59Z"), noon);
    assert_eq!(begun_after(results.path(), "2026-11-21T11:00:00Z"), None);
    assert_eq!(begun_after(results.path(), "no time"), None);
}

#[test]
fn a_failure_to_write_fails_the_trial() {
    let results = tempfile::tempdir().expect("a directory");
    let run = new_run(results.path(), "a", MORNING);
    let mut trial = run.trial(&trial_record(1, None), "x").expect("a directory");
    let directory = trial.path().to_owned();
    // A directory in the log's place: reading it as a file fails, for root too.
    let file = std::fs::File::open(results.path()).expect("it opens");
    trial.save_log(results.path(), file);
    trial.event(&Event::Second(&second(0, &[5_000_000], &[])));
    let error = trial.finish(&trial_record(1, None), None).expect_err("remembered");
    assert!(matches!(error, StoreError::Read { .. }), "{error}");
    assert!(!directory.join("trial.json").exists());
    let stored = read_below(results.path(), "a").expect("it reads");
    assert_eq!((stored.trials.len(), stored.unfinished), (0, vec![directory]));
}

#[test]
fn a_ratio_without_a_value_is_read_back() {
    let results = tempfile::tempdir().expect("a directory");
    let run = new_run(results.path(), "a", MORNING);
    let trial = run.trial(&trial_record(1, None), "x").expect("a directory");
    let load = load_record(Counts::default(), f64::NAN);
    trial.finish(&trial_record(1, Some(load)), None).expect("written");
    let load = only_trial(results.path()).record.load.expect("there was one");
    assert!(load.littles_law_ratio.is_nan() && load.busy_share_max.is_nan());
}

fn any_counts() -> impl Strategy<Value = Counts> {
    let failed = btree_map("(net|http):[a-z0-9-]{1,12}", any::<u64>(), 0..5);
    (any::<[u64; 8]>(), failed).prop_map(|(n, failed)| Counts {
        planned: n[0],
        started: n[1],
        ok: n[2],
        failed,
        dropped: n[3],
        bytes_sent: n[4],
        bytes_received: n[5],
        answer_bytes: n[6],
        body_bytes: n[7],
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn records_survive_a_round_trip(
        plan_text in "\\PC{0,80}",
        flags in vec("\\PC{0,20}", 0..4),
        seed in any::<u64>(),
        counts in any_counts(),
        share in any::<f64>().prop_filter("JSON has no others", |share| share.is_finite()),
        settings in btree_map("[a-z_]{1,8}", any::<i64>().prop_map(serde_json::Value::from), 0..4),
        reasons in vec("\\PC{0,40}", 0..3),
    ) {
        let results = tempfile::tempdir().expect("a directory");
        let run_told = RunRecord { plan_text, flags, seed, ..run_record("a", MORNING) };
        let run = RunDirectory::create(Some(&results.path().join("a")), &run_told).expect("a directory");
        let mut recorded = trial_record(1, Some(load_record(counts, share)));
        recorded.runtime.settings = settings;
        let reasons = reasons.into_iter().map(Fact::bare).collect();
        recorded.verdict = Verdict { judged: Validity::Suspect, reasons, notes: Vec::new() };
        run.trial(&trial_record(1, None), "x").expect("a directory").finish(&recorded, None).expect("written");

        let stored = read_below(results.path(), "last").expect("it reads");
        prop_assert_eq!(to_value(&stored.record).unwrap(), to_value(&run_told).unwrap());
        prop_assert_eq!(to_value(&stored.trials[0].record).unwrap(), to_value(&recorded).unwrap());
    }

    #[test]
    fn seconds_merged_from_disk_are_the_totals(
        seconds in vec(vec(0..=4_000_000_000_000_u64, 0..40), 0..6),
    ) {
        let results = tempfile::tempdir().expect("a directory");
        let run = new_run(results.path(), "a", MORNING);
        let mut trial = run.trial(&trial_record(1, None), "x").expect("a directory");
        let mut totals = TimeSet::empty();
        for (index, ns) in seconds.iter().enumerate() {
            let mut recorded = second(index as u32, ns, &[]);
            recorded.times.schedule_lag = times_of(&ns.iter().map(|ns| ns / 7).collect::<Vec<_>>());
            totals.service_time.merge(&recorded.times.service_time);
            totals.schedule_lag.merge(&recorded.times.schedule_lag);
            trial.event(&Event::Second(&recorded));
        }
        trial.finish(&trial_record(1, None), Some(&totals)).expect("written");

        let trial = only_trial(results.path());
        let mut merged = TimeSet::empty();
        let add = |_, times: &TimeSet| {
            merged.service_time.merge(&times.service_time);
            merged.schedule_lag.merge(&times.schedule_lag);
        };
        trial.times_by_second(add).expect("it reads");
        let read = trial.totals().expect("it reads");
        for (recorded, read, merged) in [
            (&totals.service_time, &read.service_time, &merged.service_time),
            (&totals.schedule_lag, &read.schedule_lag, &merged.schedule_lag),
        ] {
            prop_assert_eq!(read.histogram(), recorded.histogram());
            prop_assert_eq!(merged.histogram(), recorded.histogram());
        }
    }
}
