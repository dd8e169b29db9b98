//! What a summary is made of: a run as it lies on disk.

use stampede_load::report::TimeSet;

use crate::monitor::sample::ResourceSample;
use crate::store::record::{RunRecord, TrialRecord};

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
