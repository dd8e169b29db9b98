//! What a summary is made of: a run as it lies on disk.

use stampede_load::report::TimeSet;

use super::breaking::rising_schedule;
use crate::monitor::sample::ResourceSample;
use crate::store::record::{RunRecord, SecondRecord, TrialRecord};
use crate::store::{RunState, StoreError, StoredRun, StoredTrial};

/// A run as read.
#[derive(Clone, Debug)]
pub struct RunData {
    /// `run.json`.
    pub record: RunRecord,
    /// Its trials, in the order in which they ran.
    pub trials: Vec<TrialData>,
}

/// A trial as read.
#[derive(Clone, Debug)]
pub struct TrialData {
    /// `trial.json`.
    pub record: TrialRecord,
    /// All seconds merged (`total.hlog`); `None`: the load never started.
    pub times: Option<TimeSet>,
    /// `seconds.ndjson`; empty where the load never started.
    pub seconds: Vec<SecondRecord>,
    /// Response times by second, of a load that rises; empty for any other.
    pub answered: Vec<AnsweredSecond>,
    /// `resources.ndjson`; empty where nothing could be read.
    pub resources: Vec<ResourceSample>,
}

/// The response times of the ok shots that ended in one second.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnsweredSecond {
    /// 0 for the first.
    pub second: u32,
    /// Time in ns, and how many took it.
    pub times: Vec<(u64, u32)>,
}

impl RunData {
    /// Reads what a summary needs: about 0.4 MB a trial, and of rising loads the response
    /// times by second. What a crash tore or left
    /// unfinished is said in the notices.
    ///
    /// # Errors
    /// As [`StoredTrial::totals`], [`StoredTrial::seconds`] and [`StoredTrial::resources`].
    pub fn read(run: &StoredRun) -> Result<RunData, StoreError> {
        let mut record = run.record.clone();
        let mut trials = Vec::with_capacity(run.trials.len());
        for trial in &run.trials {
            let cell = record.cells.get(trial.record.cell);
            let rises = cell.is_some_and(|cell| rising_schedule(cell).is_some());
            let mut read = TrialData::read(trial, &mut record.notices)?;
            if rises {
                read.answered = answered(trial)?;
            }
            trials.push(read);
        }
        record.notices.extend(how_far(run));
        Ok(RunData { record, trials })
    }
}

/// What must be said of a run without all its trials; nothing: it has them.
pub fn how_far(run: &StoredRun) -> Vec<String> {
    let trials = format!("of {} trials {}", run.record.trials(), run.trials.len());
    let unfinished = run.unfinished.iter().map(|folder| {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        format!("trial `{name}` was not finished: it does not count")
    });
    match run.state {
        RunState::Ended => unfinished.collect(),
        RunState::UnderWay => vec![format!("this run is under way: {trials} have ended")],
        RunState::CutOff => {
            let early = format!("this run was ended early: {trials} were finished");
            std::iter::once(early).chain(unfinished).collect()
        }
    }
}

impl TrialData {
    fn read(trial: &StoredTrial, notices: &mut Vec<String>) -> Result<TrialData, StoreError> {
        let times = match &trial.record.load {
            Some(_) => Some(trial.totals()?),
            None => None,
        };
        let seconds = if trial.folder.join("seconds.ndjson").is_file() {
            let rows = trial.seconds()?;
            notices.extend(rows.notice);
            rows.rows
        } else {
            Vec::new()
        };
        // A trial that ended before its load may have no readings.
        let resources = if trial.folder.join("resources.ndjson").is_file() {
            let rows = trial.resources()?;
            notices.extend(rows.notice);
            rows.rows
        } else {
            Vec::new()
        };
        Ok(TrialData {
            record: trial.record.clone(),
            times,
            seconds,
            answered: Vec::new(),
            resources,
        })
    }
}

fn answered(trial: &StoredTrial) -> Result<Vec<AnsweredSecond>, StoreError> {
    let mut answered = Vec::new();
    if trial.folder.join("seconds.hlog").is_file() {
        // A torn last line is that of a second which `seconds()` has said to be torn.
        trial.times_by_second(|second, times| {
            let histogram = times.response_time.histogram();
            let recorded = histogram.iter_recorded();
            let times = recorded.map(|step| (step.value_iterated_to(), step.count_at_value()));
            answered.push(AnsweredSecond { second, times: times.collect() });
        })?;
    }
    Ok(answered)
}
