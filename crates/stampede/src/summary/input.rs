//! What a summary is made of: a run as it lies on disk.

use stampede_load::report::TimeSet;

use crate::monitor::sample::ResourceSample;
use crate::store::record::{RunRecord, TrialRecord};
use crate::store::{StoreError, StoredRun, StoredTrial};

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
    /// `resources.ndjson`; empty where nothing could be read.
    pub resources: Vec<ResourceSample>,
}

impl RunData {
    /// Reads what a summary needs: about 0.4 MB a trial. What a crash tore or left
    /// unfinished is said in the notices.
    ///
    /// # Errors
    /// As [`StoredTrial::totals`] and [`StoredTrial::resources`].
    pub fn read(run: &StoredRun) -> Result<RunData, StoreError> {
        let mut record = run.record.clone();
        let mut trials = Vec::with_capacity(run.trials.len());
        for trial in &run.trials {
            trials.push(TrialData::read(trial, &mut record.notices)?);
        }
        for folder in &run.unfinished {
            let name = folder.file_name().unwrap_or_default().to_string_lossy();
            record.notices.push(format!("trial `{name}` was not finished, and is left out"));
        }
        Ok(RunData { record, trials })
    }
}

impl TrialData {
    fn read(trial: &StoredTrial, notices: &mut Vec<String>) -> Result<TrialData, StoreError> {
        let times = match &trial.record.load {
            Some(_) => Some(trial.totals()?),
            None => None,
        };
        // A trial that ended before its load may have no readings.
        let resources = if trial.folder.join("resources.ndjson").is_file() {
            let rows = trial.resources()?;
            notices.extend(rows.notice);
            rows.rows
        } else {
            Vec::new()
        };
        Ok(TrialData { record: trial.record.clone(), times, resources })
    }
}
