//! A made-up trial, as events and as single calls.

use std::collections::BTreeMap;

use serde_json::json;
use stampede_model::counts::{Counts, Second, TimeSet};
use stampede_model::cpus::CpuCount;
use stampede_model::event::{Event, RemainingTime};
use stampede_model::record::{CaseRecord, LoadModel, RunRecord, TrialRecord, Validity};
use stampede_model::sample::{DiskSample, NetworkSample, ResourceSample, RoleSample};
use stampede_model::time::Nanos;
use stampede_remote_write::{Pace, RemoteWriter, Settings, Target, TrialLabels};

/// Settings for a server of a test: everything as usual, but faster.
pub fn settings(address: &str) -> Settings {
    use std::time::Duration;
    let target = Target::parse(address, |_| None).expect("a target");
    let pace = Pace {
        interval: Duration::from_millis(20),
        timeout: Duration::from_millis(1_500),
        pause_min: Duration::from_millis(10),
        pause_max: Duration::from_millis(40),
        ..Pace::default()
    };
    Settings { pace, ..Settings::new(target) }
}

/// A writer with these settings.
pub fn writer(settings: Settings) -> RemoteWriter {
    RemoteWriter::start(settings).expect("a writer")
}

/// A second: `ok` answers after 2 ms each, and two of status 502.
pub fn second(index: u32, ok: u64) -> Second {
    let mut times = TimeSet::empty();
    (0..ok).for_each(|_| times.response_time.record(2_000_000));
    (0..ok).for_each(|_| times.service_time.record(1_000_000));
    (0..ok).for_each(|_| times.schedule_lag.record(30_000));
    let failed = BTreeMap::from([("http:502".to_owned(), 2)]);
    let counts = Counts { planned: ok + 2, started: ok + 2, ok, failed, ..Counts::default() };
    Second { index, counts, times, in_flight_max: 7, busy: Nanos::from_millis(12) }
}

/// A reading of two CPUs of which one half is used.
pub fn reading() -> ResourceSample {
    let role = RoleSample {
        cpu_ns: 1_000_000_000,
        memory_bytes: 64 << 20,
        memory_read: true,
        processes: 9,
        disk: Some(DiskSample { read_bytes: 4096, written_bytes: 8192 }),
        network: Some(NetworkSample { received_bytes: 1000, sent_bytes: 2000 }),
        ..RoleSample::default()
    };
    ResourceSample {
        at_ns: 1_000_000_000,
        interval_ns: 1_000_000_000,
        roles: BTreeMap::from([("php".to_owned(), role)]),
        ..ResourceSample::default()
    }
}

/// The record of the run.
pub fn run(id: &str) -> RunRecord {
    let record = json!({
        "format": 2, "id": id, "stampede": "0.1.0", "started_at": "2026-11-27T21:00:00+00:00",
        "plan_text": "", "flags": [], "seed": 1, "rounds": 1, "cases": [], "order": [[0]],
        "machine": {}, "notices": [], "expect": [],
    });
    serde_json::from_value(record).expect("a run's record")
}

/// The row that is measured.
pub fn case() -> CaseRecord {
    CaseRecord {
        runtime: "nginx-fpm".to_owned(),
        app: "hello".to_owned(),
        load: "steady".to_owned(),
        model: LoadModel::Open,
        load_text: "const(10,2s)".to_owned(),
        schedule: None,
        closed: None,
        refused: None,
        sent: None,
    }
}

/// The beginning of a trial.
pub fn started(case: &CaseRecord) -> Event<'_> {
    let left = RemainingTime::default();
    let budget_cpus = CpuCount::whole(2);
    Event::TrialStarted { number: 3, trials: 6, round: 2, case, budget_cpus, left }
}

/// The record of a valid trial.
pub fn record() -> TrialRecord {
    let mut record = TrialRecord::empty(3, 2, 0);
    record.verdict.judged = Validity::Valid;
    record
}

/// A load of which only seconds are known, as `fire` sends it.
pub fn begin(writer: &mut RemoteWriter) {
    let labels = TrialLabels { load: "const(10,2s)".to_owned(), ..TrialLabels::default() };
    writer.begin_load(&labels, LoadModel::Open);
}
