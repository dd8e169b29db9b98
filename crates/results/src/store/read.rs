//! Runs as they are on disk. Opens no socket, starts nothing.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use stampede_model::causes::{cause, of_kind};
use stampede_model::counts::TimeSet;
use stampede_model::fact::stored::Damage;
use stampede_model::record::{
    CaseRecord, CustomBuild, ErrorRecord, FORMAT, RunRecord, SecondRecord, TrialRecord,
};
use stampede_model::sample::ResourceSample;

use super::directory::PageText;
use super::{StoreError, hlog, log};

/// A run that was read: its records now, the rest of each trial when asked for.
#[derive(Clone, Debug)]
pub struct StoredRun {
    /// `run.json`.
    pub record: RunRecord,
    /// Where it is.
    pub directory: PathBuf,
    /// Ended trials, in the order of their numbers.
    pub trials: Vec<StoredTrial>,
    /// Directories of trials without `trial.json`: stampede was ended during them, or could not
    /// write.
    pub unfinished: Vec<PathBuf>,
    /// Damage because of which some trials are left out.
    pub damaged: Vec<Damage>,
    /// Whether the run ended, is still written, or was cut off.
    pub state: RunState,
}

/// The state of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// The run has every trial of its plan.
    Ended,
    /// A stampede writes the run now, and holds the lock on `run.json`.
    UnderWay,
    /// The run ended early, because of Ctrl-C, a signal or a full disk.
    CutOff,
}

impl RunState {
    /// The state of a run's directory. `is_whole`: the run has every trial of its plan.
    pub fn of(directory: &Path, is_whole: bool) -> RunState {
        let lock = File::open(directory.join("run.json")).map(|file| file.try_lock_shared());
        match lock {
            _ if is_whole => RunState::Ended,
            Ok(Err(TryLockError::WouldBlock)) => RunState::UnderWay,
            _ => RunState::CutOff,
        }
    }
}

impl StoredRun {
    /// Returns the trials without `trial.json`, as they were recorded when they began, in the order
    /// of their numbers. A trial without a readable `begun.json` is left out.
    pub fn begun(&self) -> Vec<StoredTrial> {
        let trials = directories(&self.directory.join("trials")).into_iter();
        let begun = trials.filter(|directory| !directory.join("trial.json").is_file());
        let begun = begun.filter_map(|directory| {
            let record = read_trial(&directory.join("begun.json")).ok()?;
            Some(StoredTrial { record, directory })
        });
        begun.collect()
    }
}

/// A trial that was read.
#[derive(Clone, Debug)]
pub struct StoredTrial {
    /// `trial.json`.
    pub record: TrialRecord,
    /// The trial's directory.
    pub directory: PathBuf,
}

/// Rows of a file that grew line by line.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows<R> {
    /// The rows, in the order in which they were written.
    pub rows: Vec<R>,
    /// Set if the last line is incomplete. That line is left out.
    pub notice: Option<Damage>,
}

/// Reads a run. It is named as `last` or `last~1` (by start time), by its name in a results
/// directory, or by its directory.
///
/// # Errors
/// [`StoreError::NoRun`], [`StoreError::NotARun`], [`StoreError::Newer`], [`StoreError::Damaged`],
/// [`StoreError::Read`].
pub fn read_below(results: &Path, path_or_name: &str) -> Result<StoredRun, StoreError> {
    read_run(&find(results, path_or_name)?)
}

/// The error for a name that no run in the results directory has.
pub fn no_run(results: &Path, name: &str) -> StoreError {
    let known = runs(results);
    StoreError::NoRun {
        name: name.to_owned(),
        results: results.to_owned(),
        known: known.iter().filter_map(|run| Some(run.file_name()?.to_str()?.to_owned())).collect(),
    }
}

/// Returns the runs in a results directory, oldest first. Other directories are skipped.
pub fn runs(results: &Path) -> Vec<PathBuf> {
    let mut found: Vec<(Option<Timestamp>, PathBuf)> = directories(results)
        .into_iter()
        .filter_map(|directory| {
            let text = fs::read(directory.join("run.json")).ok()?;
            let run: serde_json::Value = serde_json::from_slice(&text).ok()?;
            let started = run.get("started_at").and_then(|at| at.as_str()?.parse().ok());
            Some((started, directory))
        })
        .collect();
    found.sort();
    found.into_iter().map(|(_, directory)| directory).collect()
}

/// Returns the name of the run in a results directory that began last, and when, if that is later
/// than `now` (RFC 3339): the machine's clock was set back since. `None`: none did.
pub fn begun_after(results: &Path, now: &str) -> Option<(String, String)> {
    let now: Timestamp = now.parse().ok()?;
    let last = runs(results).pop()?;
    let text = fs::read(last.join("run.json")).ok()?;
    let run: serde_json::Value = serde_json::from_slice(&text).ok()?;
    let started_at = run.get("started_at")?.as_str()?;
    let name = last.file_name()?.to_string_lossy().into_owned();
    (started_at.parse::<Timestamp>().ok()? > now).then(|| (name, started_at.to_owned()))
}

fn find(results: &Path, path_or_name: &str) -> Result<PathBuf, StoreError> {
    if let Some(back) = runs_back(path_or_name) {
        let known = runs(results);
        let wanted = known.len().checked_sub(back + 1).map(|index| known[index].clone());
        return wanted.ok_or_else(|| no_run(results, path_or_name));
    }
    let candidates = [PathBuf::from(path_or_name), results.join(path_or_name)];
    let is_run = |directory: &&PathBuf| directory.join("run.json").is_file();
    if let Some(directory) = candidates.iter().find(is_run) {
        return Ok(directory.clone());
    }
    match candidates.into_iter().find(|path| !path_or_name.is_empty() && path.exists()) {
        Some(path) => Err(StoreError::NotARun { path }),
        None => Err(no_run(results, path_or_name)),
    }
}

/// Parses `last` as 0 runs back and `last~2` as 2; `None` for other names.
pub(super) fn runs_back(name: &str) -> Option<usize> {
    match name.strip_prefix("last")? {
        "" => Some(0),
        back => back.strip_prefix('~')?.parse().ok(),
    }
}

/// Reads only the `run.json` of a run.
///
/// # Errors
/// [`StoreError::Newer`], [`StoreError::Damaged`], [`StoreError::Read`].
pub fn read_record(directory: &Path) -> Result<RunRecord, StoreError> {
    let mut read: RunRecord = record(&directory.join("run.json"))?;
    read.cases.iter_mut().for_each(CaseRecord::read_load);
    Ok(read)
}

/// Reads a trial's record.
fn read_trial(path: &Path) -> Result<TrialRecord, StoreError> {
    let mut read: TrialRecord = record(path)?;
    let runtime = &mut read.runtime;
    if runtime.custom_builds.is_empty() {
        // Records of earlier versions have this only in the version texts.
        let build = |(name, version): (&String, &String)| {
            Some((name.clone(), CustomBuild::of_version(version)?))
        };
        runtime.custom_builds = runtime.versions.iter().filter_map(build).collect();
    }
    Ok(read)
}

/// Returns the paths of the records of a run's ended trials, in the order of their numbers.
pub fn ended_trials(directory: &Path) -> Vec<PathBuf> {
    let trials = directories(&directory.join("trials"));
    trials.iter().map(|trial| trial.join("trial.json")).filter(|path| path.is_file()).collect()
}

/// Reads the run in a directory.
///
/// # Errors
/// As [`read_below`], except those about its name.
pub fn read_run(directory: &Path) -> Result<StoredRun, StoreError> {
    let record = read_record(directory)?;
    let (mut trials, mut unfinished, mut damaged) = (Vec::new(), Vec::new(), Vec::new());
    for trial in directories(&directory.join("trials")) {
        let path = trial.join("trial.json");
        if !path.is_file() {
            unfinished.push(trial);
            continue;
        }
        match read_trial(&path) {
            Ok(record) => trials.push(StoredTrial { record, directory: trial }),
            Err(error @ StoreError::Damaged { .. }) => damaged.push(left_out(&error)),
            Err(error) => return Err(error),
        }
    }
    trials.sort_by_key(|trial: &StoredTrial| trial.record.number);
    let state = RunState::of(directory, record.is_whole(trials.len()));
    Ok(StoredRun { record, directory: directory.to_owned(), trials, unfinished, damaged, state })
}

/// The file of [`StoredTrial::answer`].
pub(super) const ANSWER: &str = "answer.txt";
/// The file with the texts of pages, in the directory of the trial that asked for them.
pub(super) const PAGES: &str = "pages.ndjson";

impl StoredTrial {
    /// Returns the counts of each second.
    ///
    /// # Errors
    /// [`StoreError::Read`], and [`StoreError::Damaged`] for any line but the last.
    pub fn seconds(&self) -> Result<Rows<SecondRecord>, StoreError> {
        rows(&self.directory.join("seconds.ndjson"))
    }

    /// Readings of the monitor.
    ///
    /// # Errors
    /// As [`StoredTrial::seconds`].
    pub fn resources(&self) -> Result<Rows<ResourceSample>, StoreError> {
        rows(&self.directory.join("resources.ndjson"))
    }

    /// Failed and dropped requests by second and kind.
    ///
    /// # Errors
    /// As [`StoredTrial::seconds`].
    pub fn errors(&self) -> Result<Rows<ErrorRecord>, StoreError> {
        rows(&self.directory.join("errors.ndjson"))
    }

    /// The texts of the pages that this trial asked for; empty: it asked for none.
    pub fn pages(&self) -> Vec<PageText> {
        rows(&self.directory.join(PAGES)).map(|read| read.rows).unwrap_or_default()
    }

    /// Returns the beginning of the app's answer before the load; empty: it was not kept.
    pub fn answer(&self) -> String {
        std::fs::read_to_string(self.directory.join(ANSWER)).unwrap_or_default()
    }

    /// Returns lines of its logs that report an error, with secrets masked: the file's name and the
    /// line, in the order of the files. The number is limited, because a log may be of any size.
    /// Unreadable files are left out.
    pub fn error_lines(&self) -> Vec<(String, String)> {
        log::error_lines(&self.directory.join("logs"))
    }

    /// Returns all times of the measured load; empty sets if it never started.
    ///
    /// # Errors
    /// [`StoreError::Read`], [`StoreError::DamagedHistogram`].
    pub fn totals(&self) -> Result<TimeSet, StoreError> {
        let mut totals = TimeSet::empty();
        let path = self.directory.join("total.hlog");
        if path.is_file() {
            hlog::read(&path, |line| hlog::merge(&line, &mut totals))?;
        }
        Ok(totals)
    }

    /// Returns what is missing from its histograms and counts: files of a trial with a load that
    /// are cut off or gone.
    pub fn losses(&self) -> Vec<Damage> {
        let files = ["seconds.ndjson", "seconds.hlog", "total.hlog"];
        let lost = files.iter().filter(|_| self.record.load.is_some()).filter_map(|name| {
            let path = self.directory.join(name);
            match fs::read(&path) {
                // `Rows` reports this itself.
                Ok(_) if name.ends_with("ndjson") => None,
                Ok(bytes) => (bytes.last() != Some(&b'\n')).then(|| super::torn(&path)),
                Err(_) => Some(Damage::Gone { path }),
            }
        });
        lost.collect()
    }

    /// Passes each second's index and times to `take`, in order. Seconds without an ok request and
    /// without a start are left out. One set is held at a time, because those of ten minutes would
    /// take 225 MB. Returns a notice if the last line is incomplete.
    ///
    /// # Errors
    /// As [`StoredTrial::totals`].
    pub fn times_by_second(
        &self,
        mut take: impl FnMut(u32, &TimeSet),
    ) -> Result<Option<Damage>, StoreError> {
        let mut under_way: Option<(u32, TimeSet)> = None;
        let notice = hlog::read(&self.directory.join("seconds.hlog"), |line| {
            let second = u32::try_from(line.start.0 / 1_000_000_000).unwrap_or(u32::MAX);
            if under_way.as_ref().is_some_and(|(other, _)| *other != second)
                && let Some((done, times)) = under_way.take()
            {
                take(done, &times);
            }
            let (_, times) = under_way.get_or_insert_with(|| (second, TimeSet::empty()));
            hlog::merge(&line, times);
        })?;
        if let Some((last, times)) = under_way {
            take(last, &times);
        }
        Ok(notice)
    }
}

/// The notice about something damaged in a run that can be read without it.
pub fn left_out(error: &StoreError) -> Damage {
    Damage::LeftOut { cause: cause(error, &[of_kind::<StoreError>]) }
}

/// Reads a record, after a check that its format is one of ours.
fn record<R: DeserializeOwned>(path: &Path) -> Result<R, StoreError> {
    let damaged = |source| StoreError::Damaged { path: path.to_owned(), line: 0, source };
    let bytes =
        fs::read(path).map_err(|source| StoreError::Read { path: path.to_owned(), source })?;
    let value: serde_json::Value = serde_json::from_slice(&bytes).map_err(damaged)?;
    let format = value.get("format").and_then(serde_json::Value::as_u64).unwrap_or(0);
    if format == 0 {
        return Err(StoreError::Foreign { path: path.to_owned() });
    }
    if format > u64::from(FORMAT) {
        return Err(StoreError::Newer { path: path.to_owned(), format });
    }
    serde_json::from_value(value).map_err(damaged)
}

fn rows<R: DeserializeOwned>(path: &Path) -> Result<Rows<R>, StoreError> {
    let bytes =
        fs::read(path).map_err(|source| StoreError::Read { path: path.to_owned(), source })?;
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let lines = bytes[..whole].split_inclusive(|byte| *byte == b'\n');
    let rows: Result<Vec<R>, StoreError> = lines
        .enumerate()
        .map(|(index, line)| {
            serde_json::from_slice(line).map_err(|source| StoreError::Damaged {
                path: path.to_owned(),
                line: index + 1,
                source,
            })
        })
        .collect();
    Ok(Rows { rows: rows?, notice: (whole < bytes.len()).then(|| super::torn(path)) })
}

/// Returns the directories in a directory, sorted by name; none if it does not exist.
pub fn directories(directory: &Path) -> Vec<PathBuf> {
    let read = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut directories: Vec<PathBuf> =
        read.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    directories.sort();
    directories
}
