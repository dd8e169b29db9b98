//! Stores results on disk: one directory per run and one per trial, written as each trial ends.
//!
//! ```text
//! stampede-results/<run>/run.json                       first, before anything is measured
//!                        trials/<nnn>-<case>/seconds.ndjson seconds.hlog
//!                                            resources.ndjson errors.ndjson   each second
//!                                            begun.json                       before it
//!                                            pages.ndjson                     in the first trials
//!                                            logs/ total.hlog trial.json      last
//! ```
//! A crash loses at most the running trial, which then counts as unfinished because of its
//! `begun.json`. While a run is written its `run.json` is locked. The kernel releases the lock when
//! the writer is gone. A run is useless without its record, so a failure to write fails the run.

pub mod directory;
pub mod hlog;
mod log;
pub mod name;
pub mod read;
mod space;
mod write;

use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

pub use directory::{PageText, RunDirectory, TrialDirectory};
use hlog::HistogramError;
pub use name::run_id;
pub use read::{
    Rows, RunState, StoredRun, StoredTrial, begun_after, directories, ended_trials, left_out,
    no_run, read_below, read_record, read_run, runs,
};
use stampede_mask::Masked;
pub use stampede_mask::{MASK, mask_secrets};
use stampede_model::fact::stored::Damage;
use stampede_model::record::FORMAT;

/// Writes `summary.json` beside `run.json`.
///
/// # Errors
/// [`StoreError::Write`].
pub fn write_summary(run: &Path, text: &str) -> Result<(), StoreError> {
    write_artefact(&run.join("summary.json"), &Masked::rendered(text))
}

/// Writes a page of a report.
///
/// # Errors
/// [`StoreError::Write`].
pub fn write_page(path: &Path, text: &str) -> Result<(), StoreError> {
    write_artefact(path, &Masked::rendered(text))
}

/// Writes a whole file.
///
/// # Errors
/// [`StoreError::Write`].
pub fn write_artefact(path: &Path, content: &Masked) -> Result<(), StoreError> {
    write::whole(path, content)
}

/// Writes files into a directory, which is created if it does not exist. Returns their paths, and
/// how many of the files existed before.
///
/// # Errors
/// [`StoreError::Write`].
pub fn write_files(
    directory: &Path,
    files: &[(String, String)],
) -> Result<(Vec<PathBuf>, usize), StoreError> {
    std::fs::create_dir_all(directory)
        .map_err(|source| StoreError::Write { path: directory.to_owned(), source })?;
    let paths: Vec<PathBuf> = files.iter().map(|(name, _)| directory.join(name)).collect();
    let before = paths.iter().filter(|path| path.exists()).count();
    for (path, (_, text)) in paths.iter().zip(files) {
        write_page(path, text)?;
    }
    Ok((paths, before))
}

/// Why results cannot be written or read.
#[derive(Debug, thiserror::Error, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StoreError {
    /// The directory exists. Results never overwrite results.
    #[error("the result directory `{directory}` exists")]
    Exists {
        /// The directory.
        directory: PathBuf,
    },
    /// The file cannot be written.
    #[error("`{path}` cannot be written")]
    Write {
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        #[serde(skip)]
        source: io::Error,
    },
    /// The file cannot be read.
    #[error("`{path}` cannot be read")]
    Read {
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        #[serde(skip)]
        source: io::Error,
    },
    /// The record is not what stampede writes.
    #[error("`{path}` is damaged{}", at_line(*line))]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Number of the line, from 1; 0: the file is one record.
        line: usize,
        /// The parser's error.
        #[serde(skip)]
        source: serde_json::Error,
    },
    /// The histogram is not what stampede writes.
    #[error("`{path}` is damaged{}: {what}", at_line(*line))]
    DamagedHistogram {
        /// The file.
        path: PathBuf,
        /// Number of the line, from 1.
        line: usize,
        /// What is wrong with the line.
        what: HistogramError,
    },
    /// A later stampede wrote the record, in which fields may have other meanings.
    #[error("`{path}` has format {format}, this stampede knows {FORMAT}")]
    Newer {
        /// The file.
        path: PathBuf,
        /// Format of the record.
        format: u64,
    },
    /// The record has no format. Every record of stampede has one.
    #[error("`{path}` names no format: no stampede wrote it")]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The path exists, and it is not a run.
    #[error("`{path}` is not a run: it has no run.json")]
    NotARun {
        /// The path.
        path: PathBuf,
    },
    /// The same run is named twice.
    #[error("the run `{directory}` is named twice")]
    Twice {
        /// The directory.
        directory: PathBuf,
    },
    /// Too many runs are named. Each run is shown with a letter.
    #[error("{named} runs are given; at most {most} can be combined")]
    TooMany {
        /// Number of named runs.
        named: usize,
        /// Number of letters.
        most: usize,
    },
    /// No run has this name.
    #[error("there is no run `{name}`")]
    NoRun {
        /// The name as given.
        name: String,
        /// The results directory that was searched, in addition to the current directory.
        results: PathBuf,
        /// Names of the existing runs, oldest first.
        known: Vec<String>,
    },
}

impl StoreError {
    /// What to do next; `None` if there is no advice.
    pub fn hint(&self) -> Option<String> {
        match self {
            StoreError::Exists { .. } => {
                Some("name another directory, or move this one away".to_owned())
            }
            StoreError::Write { path, source } => Some(space::hint(path, source.kind())),
            StoreError::Newer { .. } => Some("read it with a newer stampede".to_owned()),
            StoreError::NoRun { results, known, .. } if known.is_empty() => {
                let results = results.display();
                Some(format!("`{results}` holds no run; `stampede compare` makes one"))
            }
            StoreError::NoRun { name, results, known } if read::runs_back(name).is_some() => {
                Some(format!(
                    "`{}` holds {}: `stampede history` lists them",
                    results.display(),
                    known.len()
                ))
            }
            StoreError::NoRun { name, results, known } => {
                let near = |run: &&String| strsim::jaro_winkler(run, name);
                let nearest = known.iter().max_by(|a, b| near(a).total_cmp(&near(b)))?;
                let (count, results) = (known.len(), results.display());
                Some(format!(
                    "`{results}` holds {count}; the nearest name is `{nearest}`, and `last` is the \
                     newest"
                ))
            }
            StoreError::Twice { .. } => {
                Some("name each run once; `stampede history` lists them".to_owned())
            }
            StoreError::TooMany { .. } => Some("name fewer".to_owned()),
            StoreError::NotARun { .. } => Some(
                "name a directory that `stampede compare` made; `stampede history --in DIR` lists \
                 those in a directory"
                    .to_owned(),
            ),
            StoreError::Foreign { .. } => {
                Some("name a directory that `stampede compare` made".to_owned())
            }
            StoreError::Read { .. }
            | StoreError::Damaged { .. }
            | StoreError::DamagedHistogram { .. } => None,
        }
    }
}

fn at_line(line: usize) -> String {
    if line == 0 { String::new() } else { format!(" at line {line}") }
}

/// The notice about a file whose last line was cut off.
fn torn(path: &Path) -> Damage {
    Damage::Torn { path: path.to_owned() }
}

#[cfg(test)]
mod tests {
    use stampede_model::record::RESULTS;

    use super::*;

    #[test]
    fn every_error_and_its_hint() {
        let path = || PathBuf::from("stampede-results/x/run.json");
        let no_run = |known: &[&str]| StoreError::NoRun {
            name: "last~7".to_owned(),
            results: PathBuf::from(RESULTS),
            known: known.iter().map(|name| (*name).to_owned()).collect(),
        };
        let json = || serde_json::from_str::<u32>("{").expect_err("not a number");
        let errors = [
            StoreError::Exists { directory: PathBuf::from("out") },
            StoreError::Write { path: path(), source: io::Error::other("x") },
            StoreError::Write { path: "/x".into(), source: io::ErrorKind::StorageFull.into() },
            StoreError::Write { path: path(), source: io::ErrorKind::PermissionDenied.into() },
            StoreError::Write {
                path: "/x".into(),
                source: io::ErrorKind::ReadOnlyFilesystem.into(),
            },
            StoreError::Read { path: path(), source: io::Error::other("x") },
            StoreError::Damaged { path: path(), line: 0, source: json() },
            StoreError::Damaged { path: path(), line: 3, source: json() },
            StoreError::DamagedHistogram { path: path(), line: 3, what: HistogramError::Bounds },
            StoreError::Newer { path: path(), format: 2 },
            StoreError::Foreign { path: path() },
            StoreError::NotARun { path: PathBuf::from("/tmp") },
            StoreError::Twice { directory: PathBuf::from("stampede-results/x") },
            StoreError::TooMany { named: 27, most: 26 },
            no_run(&[]),
            no_run(&["20261121-035151-3f9a", "last-week"]),
            StoreError::NoRun {
                name: "lastweek".to_owned(),
                results: PathBuf::from(RESULTS),
                known: vec!["20261121-035151-3f9a".to_owned(), "last-week".to_owned()],
            },
        ];
        let told = errors.map(|error| {
            let hint = error.hint().map(|hint| format!("  hint: {hint}\n")).unwrap_or_default();
            format!("{error}\n{hint}")
        });
        insta::assert_snapshot!(told.concat());
    }
}
