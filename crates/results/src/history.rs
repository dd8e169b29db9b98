//! Lists the runs in a results directory, each with a short description. This module only reads:
//! the answers come from each run's own summary.

use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stampede_model::causes::chain;
use stampede_model::record::{RunRecord, Validity};

use crate::store::{self, RunState};

/// A short description of one run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Entry {
    /// Name of the directory, which `report` accepts.
    pub name: String,
    /// Start of the run in RFC 3339; empty if the run cannot be read.
    pub started_at: String,
    /// Whether the run ended, is running, or cannot be read.
    pub state: State,
    /// Why the run cannot be read; empty if it can.
    pub why: String,
    /// Names of the apps, each once.
    pub apps: Vec<String>,
    /// Names of the loads, each once.
    pub loads: Vec<String>,
    /// Names of the runtimes, each once.
    pub runtimes: Vec<String>,
    /// Number of planned rounds.
    pub rounds: u32,
    /// Number of trials that ended.
    pub trials_ended: usize,
    /// Number of trials in the plan.
    pub trials_planned: usize,
    /// Number of ended trials that do not count.
    pub trials_invalid: usize,
    /// What the run found, for each app and load; empty until the run has its summary.
    pub answers: Vec<Answer>,
}

/// What a run found for one app and one load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// The app's name.
    pub app: String,
    /// The load's name.
    pub load: String,
    /// How the rows compare with the baseline, and how sure that is.
    pub sentence: String,
}

/// The state of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// The run has every trial of its plan.
    Ended,
    /// A stampede writes the run now.
    UnderWay,
    /// The run ended early.
    CutOff,
    /// The run is damaged, or a newer stampede wrote it.
    Unreadable,
}

/// Returns all runs of a results directory, newest first. Runs that cannot be read come last.
pub fn of(results: &Path) -> Vec<Entry> {
    let directories = store::directories(results);
    let runs = directories.iter().filter(|directory| directory.join("run.json").is_file());
    let mut entries: Vec<Entry> = runs.map(|directory| entry(directory)).collect();
    entries.sort_by_cached_key(|entry| {
        (entry.started_at.parse::<Timestamp>().ok(), entry.name.clone())
    });
    entries.reverse();
    entries
}

/// Returns the directory, state and number of ended trials of each run. The value changes when a
/// run begins, ends a trial or ends. It is cheap enough to be computed each second.
pub fn fingerprint(results: &Path) -> Vec<(PathBuf, RunState, usize)> {
    let directories = store::directories(results).into_iter();
    let runs = directories.filter(|directory| directory.join("run.json").is_file());
    runs.map(|directory| {
        let ended = store::ended_trials(&directory).len();
        let is_whole = directory.join("summary.json").is_file();
        let state = RunState::of(&directory, is_whole);
        (directory, state, ended)
    })
    .collect()
}

fn entry(directory: &Path) -> Entry {
    let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
    match store::read_record(directory) {
        Ok(record) => of_run(name, directory, &record),
        Err(error) => Entry {
            name,
            started_at: String::new(),
            state: State::Unreadable,
            why: chain(&error),
            apps: Vec::new(),
            loads: Vec::new(),
            runtimes: Vec::new(),
            rounds: 0,
            trials_ended: 0,
            trials_planned: 0,
            trials_invalid: 0,
            answers: Vec::new(),
        },
    }
}

fn of_run(name: String, directory: &Path, record: &RunRecord) -> Entry {
    let ended = store::ended_trials(directory);
    let invalid = ended.iter().filter(|path| is_invalid(path)).count();
    let planned = record.trials();
    Entry {
        name,
        started_at: record.started_at.clone(),
        state: match RunState::of(directory, record.is_whole(ended.len())) {
            RunState::Ended => State::Ended,
            RunState::UnderWay => State::UnderWay,
            RunState::CutOff => State::CutOff,
        },
        why: String::new(),
        apps: record.names_of(|case| &case.app),
        loads: record.names_of(|case| &case.load),
        runtimes: record.names_of(|case| &case.runtime),
        rounds: record.rounds,
        trials_ended: ended.len(),
        trials_planned: planned,
        trials_invalid: invalid,
        answers: answers(directory),
    }
}

fn is_invalid(trial: &Path) -> bool {
    #[derive(Deserialize)]
    struct Trial {
        verdict: Verdict,
    }
    #[derive(Deserialize)]
    struct Verdict {
        judged: Validity,
    }
    let read = fs::read(trial).ok().and_then(|text| serde_json::from_slice::<Trial>(&text).ok());
    read.is_some_and(|trial| trial.verdict.judged == Validity::Invalid)
}

/// Reads the answers from `summary.json`. The file may be missing or have another format version.
fn answers(directory: &Path) -> Vec<Answer> {
    #[derive(Deserialize)]
    struct Summary {
        groups: Vec<Answer>,
    }
    let text = fs::read(directory.join("summary.json")).unwrap_or_default();
    serde_json::from_slice(&text).map(|read: Summary| read.groups).unwrap_or_default()
}
