//! Reads from disk what a report is about: one run, or several runs overlaid.

use std::path::{Path, PathBuf};

use stampede_model::fact::Fact;

use super::page::{self, Page};
use crate::store::{self, RunState, StoreError, StoredRun};
use crate::summary::overlay::{Overlay, overlay};
use crate::summary::{self, RunData, Summary};

/// One run or several, read and summarised.
#[derive(Clone, Debug)]
pub struct LoadedRuns {
    runs: Vec<LoadedRun>,
    /// The overlay of several runs. `None`: there is only one run.
    laid: Option<Overlay>,
}

/// A run that was read and summarised, with its expectations judged.
#[derive(Clone, Debug)]
struct LoadedRun {
    stored: StoredRun,
    data: RunData,
    summary: Summary,
}

impl LoadedRuns {
    /// Reads runs by directory, name or `last~1`. Names are also looked for in `results`.
    ///
    /// # Errors
    /// As [`store::read_below`], also for an empty list; [`StoreError::Twice`],
    /// [`StoreError::TooMany`].
    pub fn read(results: &Path, names: &[String]) -> Result<LoadedRuns, StoreError> {
        if names.is_empty() {
            return Err(store::no_run(results, ""));
        }
        let most = summary::overlay::MOST_RUNS;
        if names.len() > most {
            return Err(StoreError::TooMany { named: names.len(), most });
        }
        let mut runs: Vec<LoadedRun> = Vec::new();
        for name in names {
            let read = LoadedRun::run(store::read_below(results, name)?)?;
            let real = |read: &LoadedRun| read.stored.directory.canonicalize().ok();
            let is_it = |other: &LoadedRun| real(other) == real(&read);
            if runs.iter().any(is_it) {
                return Err(StoreError::Twice { directory: read.stored.directory });
            }
            runs.push(read);
        }
        Ok(LoadedRuns { laid: (runs.len() > 1).then(|| overlay_runs(&runs)), runs })
    }

    /// The summary that all formats except the page show.
    pub fn summary(&self) -> &Summary {
        self.laid.as_ref().map_or(&self.runs[0].summary, |laid| &laid.summary)
    }

    /// Each run by itself, in the order in which the user named them.
    pub fn runs(&self) -> impl Iterator<Item = (&StoredRun, &RunData, &Summary)> {
        self.runs.iter().map(|run| (&run.stored, &run.data, &run.summary))
    }

    /// The first run as it is on disk. It is the only one unless there are several.
    pub fn stored(&self) -> &StoredRun {
        &self.runs[0].stored
    }

    /// All data that the page shows.
    ///
    /// # Errors
    /// A trial's seconds cannot be read.
    pub fn page(&self) -> Result<Page, StoreError> {
        let pages = self.runs.iter().map(|run| page::page(&run.stored, &run.data, &run.summary));
        let mut pages = pages.collect::<Result<Vec<Page>, StoreError>>()?;
        Ok(match &self.laid {
            Some(laid) => page::combine(pages, laid.clone()),
            None => pages.remove(0),
        })
    }

    /// The path of the page: in the run's directory, or for several runs beside the directory of
    /// the first.
    pub fn page_path(&self) -> PathBuf {
        let first = &self.runs[0].stored.directory;
        if self.laid.is_none() {
            return first.join("report.html");
        }
        let ids: Vec<String> =
            self.runs.iter().map(|run| store::name::file_name(&run.stored.record.id)).collect();
        let name = match ids.as_slice() {
            [first, _, _, _, ..] => format!("{first}+{}-more", ids.len() - 1),
            few => few.join("+"),
        };
        first.with_file_name(format!("{name}.html"))
    }

    /// The path of the directory for charts: in the run's directory, or for several runs beside the
    /// page.
    pub fn charts_path(&self) -> PathBuf {
        if self.laid.is_none() {
            return self.runs[0].stored.directory.join("charts");
        }
        let page = self.page_path();
        let name = page.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        page.with_file_name(format!("{name}-charts"))
    }
}

impl LoadedRun {
    fn run(stored: StoredRun) -> Result<LoadedRun, StoreError> {
        let data = RunData::read(&stored)?;
        let mut summary = summary::summarize(&data);
        if stored.state == RunState::UnderWay {
            summary.mark_pending();
        }
        Ok(LoadedRun { stored, data, summary })
    }
}

fn overlay_runs(runs: &[LoadedRun]) -> Overlay {
    let mut laid = overlay(&runs.iter().map(|run| &run.summary).collect::<Vec<_>>());
    let records: Vec<_> = runs.iter().map(|run| &run.stored.record).collect();
    laid.summary.notices.splice(1..1, page::run::machines_differ(&records).map(Fact::from));
    laid
}
