//! Reads from disk what a summary is computed from.

use std::collections::{HashMap, HashSet};

use stampede_model::counts::TimeSet;
use stampede_model::fact::stored::Damage;
use stampede_model::fact::{Fact, Notice};
use stampede_model::record::{PageRecord, RunRecord, SecondRecord, TrialRecord, Validity};
use stampede_model::sample::ResourceSample;

use super::breaking::rising_schedule;
use super::steady;
use crate::store::{Rows, RunState, StoreError, StoredRun, StoredTrial, left_out};

/// A run as read from disk.
#[derive(Clone, Debug)]
pub struct RunData {
    /// The content of `run.json`.
    pub record: RunRecord,
    /// The trials, in the order in which they ran.
    pub trials: Vec<TrialData>,
}

/// A trial as read from disk.
#[derive(Clone, Debug)]
pub struct TrialData {
    /// The content of `trial.json`.
    pub record: TrialRecord,
    /// The times of all seconds, merged (`total.hlog`). `None`: the load never started.
    pub times: Option<TimeSet>,
    /// The rows of `seconds.ndjson`. Empty: the load never started.
    pub seconds: Vec<SecondRecord>,
    /// Response times by second, for a rising load only. Empty for any other load.
    pub answered: Vec<AnsweredSecond>,
    /// Median service time by second, in ns. Only for a constant load long enough to show whether
    /// it was stable; empty for any other.
    pub service: Vec<Option<f64>>,
    /// The rows of `resources.ndjson`. Empty: nothing could be read.
    pub resources: Vec<ResourceSample>,
}

/// The response times of the ok requests that ended within one second.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnsweredSecond {
    /// The second, counted from 0.
    pub second: u32,
    /// Pairs of a time in ns and the number of requests that took it.
    pub times: Vec<(u64, u64)>,
}

impl RunData {
    /// Reads what a summary needs: about 0.4 MB per trial, plus the response times by second for
    /// rising loads. Notices name what a crash damaged or left unfinished.
    ///
    /// # Errors
    /// As [`StoredTrial::totals`], [`StoredTrial::seconds`] and [`StoredTrial::resources`].
    pub fn read(run: &StoredRun) -> Result<RunData, StoreError> {
        let mut record = run.record.clone();
        let mut trials = Vec::with_capacity(run.trials.len());
        for trial in &run.trials {
            let case = record.cases.get(trial.record.case);
            let rises = case.is_some_and(|case| rising_schedule(case).is_some());
            let mut read = TrialData::read(trial, &mut record.notices)?;
            if rises {
                read.answered = answered(trial)?;
            }
            if case.is_some_and(|case| steady::is_judged(case, &trial.record)) {
                read.service = service(trial)?;
            }
            trials.push(read);
        }
        add_texts(run, &mut trials);
        record.notices.extend(how_far(run).into_iter().map(Fact::from));
        record.notices.extend(run.damaged.iter().map(damaged));
        Ok(RunData { record, trials })
    }
}

/// Adds the texts of pages of which there are several: what differs in them will be shown. One trial
/// of a case is compared, so the texts are added to one.
fn add_texts(run: &StoredRun, trials: &mut [TrialData]) {
    let mut cases = HashSet::new();
    let counts = |trial: &TrialData| trial.record.verdict.judged != Validity::Invalid;
    let mut compared: Vec<&mut PageRecord> = trials
        .iter_mut()
        .filter(|trial| counts(trial) && trial.record.runtime.before.is_some())
        .filter(|trial| cases.insert(trial.record.case))
        .filter_map(|trial| trial.record.runtime.before.as_mut())
        .flat_map(|before| &mut before.pages)
        .collect();
    let mut first: HashMap<&str, &str> = HashMap::new();
    let hashes: Vec<(String, String)> =
        compared.iter().map(|page| (page.path.clone(), page.text_sha256.clone())).collect();
    let several: HashSet<&str> = hashes
        .iter()
        .filter(|(path, hash)| *first.entry(path).or_insert(hash) != hash)
        .map(|(path, _)| path.as_str())
        .collect();
    if several.is_empty() {
        return;
    }
    let texts: HashMap<String, String> = run
        .trials
        .iter()
        .flat_map(|trial| trial.pages())
        .map(|page| (page.text_sha256, page.text))
        .collect();
    for page in compared.iter_mut().filter(|page| several.contains(page.path.as_str())) {
        page.text = texts.get(&page.text_sha256).cloned().unwrap_or_default();
    }
}

/// Notices about missing or unfinished trials of a run. Empty: all trials are there.
pub fn how_far(run: &StoredRun) -> Vec<Notice> {
    let (planned, ended) = (run.record.trials(), run.trials.len());
    let unfinished = run.unfinished.iter().map(|directory| {
        let name = directory.file_name().unwrap_or_default().to_string_lossy();
        Notice::Unfinished { trial: name.into_owned() }
    });
    match run.state {
        RunState::Ended => unfinished.collect(),
        RunState::UnderWay => vec![Notice::UnderWay { planned, ended }],
        RunState::CutOff => {
            std::iter::once(Notice::EndedEarly { planned, ended }).chain(unfinished).collect()
        }
    }
}

fn damaged(damage: &Damage) -> Fact<Notice> {
    Notice::Damaged { damage: damage.clone() }.into()
}

impl TrialData {
    fn read(trial: &StoredTrial, notices: &mut Vec<Fact<Notice>>) -> Result<TrialData, StoreError> {
        notices.extend(trial.losses().iter().map(damaged));
        let times = match &trial.record.load {
            Some(_) => unless_damaged(trial.totals().map(Some), notices)?,
            None => None,
        };
        // A trial that ended before its load may have no such file.
        let there = |name: &str| trial.directory.join(name).is_file();
        let seconds =
            if there("seconds.ndjson") { rows(trial.seconds(), notices)? } else { vec![] };
        let resources =
            if there("resources.ndjson") { rows(trial.resources(), notices)? } else { vec![] };
        let mut record = trial.record.clone();
        if let Some(before) = &mut record.runtime.before {
            before.answer = trial.answer();
        }
        Ok(TrialData {
            record,
            times,
            seconds,
            answered: Vec::new(),
            service: Vec::new(),
            resources,
        })
    }
}

/// The rows that can be read. Notices name those that cannot.
fn rows<R>(
    read: Result<Rows<R>, StoreError>,
    notices: &mut Vec<Fact<Notice>>,
) -> Result<Vec<R>, StoreError> {
    let Some(read) = unless_damaged(read.map(Some), notices)? else { return Ok(Vec::new()) };
    notices.extend(read.notice.iter().map(damaged));
    Ok(read.rows)
}

/// Turns damage into a notice and leaves out the damaged part: the rest of a run is worth reading.
fn unless_damaged<T>(
    read: Result<Option<T>, StoreError>,
    notices: &mut Vec<Fact<Notice>>,
) -> Result<Option<T>, StoreError> {
    match read {
        Err(error @ (StoreError::Damaged { .. } | StoreError::DamagedHistogram { .. })) => {
            notices.push(damaged(&left_out(&error)));
            Ok(None)
        }
        other => other,
    }
}

/// Median service time by second. Damage is not reported here: `TrialData::read` does that.
fn service(trial: &StoredTrial) -> Result<Vec<Option<f64>>, StoreError> {
    let scheduled = trial.record.load.as_ref().map_or(0, |load| load.scheduled_ns);
    let mut medians = vec![None; (scheduled / 1_000_000_000) as usize];
    let read = trial.times_by_second(|second, times| {
        let count = times.service_time.len();
        if let (Some(median), 1..) = (medians.get_mut(second as usize), count) {
            *median = Some(times.service_time.at_rank(count.div_ceil(2)) as f64);
        }
    });
    match read {
        Ok(_) | Err(StoreError::DamagedHistogram { .. } | StoreError::Read { .. }) => Ok(medians),
        Err(error) => Err(error),
    }
}

fn answered(trial: &StoredTrial) -> Result<Vec<AnsweredSecond>, StoreError> {
    let mut answered = Vec::new();
    if trial.directory.join("seconds.hlog").is_file() {
        let read = trial.times_by_second(|second, times| {
            let histogram = times.response_time.histogram();
            let recorded = histogram.iter_recorded();
            let times = recorded.map(|step| (step.value_iterated_to(), step.count_at_value()));
            answered.push(AnsweredSecond { second, times: times.collect() });
        });
        // Damage is not reported here: `TrialData::read` does that.
        match read {
            Ok(_) | Err(StoreError::DamagedHistogram { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(answered)
}
