//! Writes a run to disk as `compare` would, without sending any load.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use stampede_model::counts::{Counts, Second, TimeSet};
use stampede_model::event::{Event, EventListener};
use stampede_model::sample::{ResourceSample, RoleSample};
use stampede_model::time::Nanos;
use stampede_results::store::RunDirectory;
use stampede_results::summary::RunData;

use crate::report_fixture as fixture;
use crate::report_fixture::{MS, spread};

/// Writes a run as `compare` does; each trial gets `seconds` seconds of load.
pub fn write(directory: &Path, run: &RunData, seconds: u32) -> PathBuf {
    let stored =
        RunDirectory::create(Some(&directory.join("run")), &run.record).expect("a run's directory");
    for trial in &run.trials {
        let case = &run.record.cases[trial.record.case];
        let mut written =
            stored.trial(&trial.record, &case.runtime.replace('/', "-")).expect("a directory");
        let mut totals = TimeSet::empty();
        for index in 0..seconds {
            let second = second(index, trial.record.number);
            totals.response_time.merge(&second.times.response_time);
            totals.service_time.merge(&second.times.service_time);
            written.event(&Event::Second(&second));
            written.event(&Event::Resources(&reading(index)));
        }
        written.finish(&trial.record, Some(&totals)).expect("written");
    }
    stored.path().to_owned()
}

/// A second with fifty answers, which are slow now and then.
pub fn second(index: u32, seed: u32) -> Second {
    let slow = if index % 97 == seed % 97 { 80 } else { 1 };
    let answered = fixture::times(&spread(50, MS * slow));
    let failed: BTreeMap<String, u64> = match slow {
        1 => BTreeMap::new(),
        _ => BTreeMap::from([("http:502".to_owned(), 2)]),
    };
    let counts = Counts { planned: 52, started: 52, ok: 50, failed, ..Counts::default() };
    let times =
        TimeSet { response_time: answered.clone(), service_time: answered, ..TimeSet::empty() };
    Second { index, counts, times, in_flight_max: 3, busy: Nanos(99) }
}

fn reading(index: u32) -> ResourceSample {
    let role = |memory_bytes| RoleSample {
        cpu_ns: 123_456_789,
        memory_bytes,
        memory_read: true,
        ..RoleSample::default()
    };
    ResourceSample {
        at_ns: u64::from(index + 1) * 1_000_000_000,
        interval_ns: 1_000_000_000,
        roles: [("php".to_owned(), role(64 << 20)), ("web".to_owned(), role(8 << 20))].into(),
        ..ResourceSample::default()
    }
}
