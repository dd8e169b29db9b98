//! The runs in a directory of results, each in a few words. Reads, and computes nothing anew:
//! answers are those of the run's own summary.

use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::causes::chain;
use crate::store::record::{Judged, RunRecord};
use crate::store::{self, RunState};

/// One run, in a few words.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Entry {
    /// The directory's name: `report` takes it.
    pub name: String,
    /// RFC 3339; empty where the run cannot be read.
    pub started_at: String,
    /// How far it is.
    pub state: State,
    /// Why it cannot be read; empty where it can.
    pub why: String,
    /// Apps, each once.
    pub apps: Vec<String>,
    /// Loads, each once.
    pub loads: Vec<String>,
    /// Runtimes, each once.
    pub runtimes: Vec<String>,
    /// Rounds planned.
    pub rounds: u32,
    /// Trials that ended.
    pub trials_ended: usize,
    /// Trials of the plan.
    pub trials_planned: usize,
    /// Those of the ended ones that do not count.
    pub trials_invalid: usize,
    /// What the run found, for each app and load; empty before it has its summary.
    pub answers: Vec<Answer>,
}

/// What a run found under one app and load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// App's name.
    pub app: String,
    /// Load's name.
    pub load: String,
    /// Who is ahead, by how much, and how sure that is.
    pub sentence: String,
}

/// How far a run is, or that it cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It has every trial of its plan.
    Ended,
    /// Something writes it now.
    UnderWay,
    /// It was ended early.
    CutOff,
    /// Damaged, or of a newer stampede.
    Unreadable,
}

/// All runs of a directory of results, the newest first; those that cannot be read last.
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

/// What changes when a run begins, ends a trial or ends: cheap enough to be asked each second.
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
        judged: Judged,
    }
    let read = fs::read(trial).ok().and_then(|text| serde_json::from_slice::<Trial>(&text).ok());
    read.is_some_and(|trial| trial.verdict.judged == Judged::Invalid)
}

/// Of `summary.json`, which may not be there, or be of another version.
fn answers(directory: &Path) -> Vec<Answer> {
    #[derive(Deserialize)]
    struct Summary {
        groups: Vec<Answer>,
    }
    let text = fs::read(directory.join("summary.json")).unwrap_or_default();
    serde_json::from_slice(&text).map(|read: Summary| read.groups).unwrap_or_default()
}
