//! Writes the directory of a run, and the directory of the running trial.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use stampede_mask::Masked;
use stampede_model::counts::{Second, TimeSet};
use stampede_model::event::{Event, EventListener, Phase};
use stampede_model::record::RESULTS;
use stampede_model::record::{ErrorRecord, PageRecord, RunRecord, SecondRecord, TrialRecord};
use stampede_model::sample::ResourceSample;
use stampede_model::time::Nanos;

use super::hlog::Writer;
use super::name::file_name;
use super::read::{ANSWER, PAGES};
use super::write::{self, AppendFile, Lock};
use super::{StoreError, log};

/// How much of an answer is kept. Differences show early, and a page may be large.
const ANSWER_CHARS: usize = 64 << 10;

/// How much is kept of all pages of a trial.
const PAGES_BYTES: usize = 8 << 20;

/// The directory of one run.
#[derive(Debug)]
pub struct RunDirectory {
    path: PathBuf,
    /// The lock on the run while it is written; see [`super::RunState`].
    lock: Lock,
}

impl RunDirectory {
    /// Creates `out`, or `stampede-results/<id>` in the current directory. Writes `run.json` before
    /// anything is measured.
    ///
    /// # Errors
    /// [`StoreError::Exists`] if the directory exists, [`StoreError::Write`] otherwise.
    pub fn create(out: Option<&Path>, record: &RunRecord) -> Result<RunDirectory, StoreError> {
        let path = match out {
            Some(out) => out.to_owned(),
            None => Path::new(RESULTS).join(file_name(&record.id)),
        };
        let failed = |source| StoreError::Write { path: path.clone(), source };
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(failed)?;
        }
        match fs::create_dir(&path) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                return Err(StoreError::Exists { directory: path });
            }
            Err(error) => return Err(failed(error)),
        }
        let lock = write::locked_record(&path.join("run.json"), record)?;
        fs::create_dir(path.join("trials")).map_err(failed)?;
        Ok(RunDirectory { lock, path })
    }

    /// Writes `run.json` again, completely or not at all, when trials were added to its order.
    ///
    /// # Errors
    /// [`StoreError::Write`].
    pub fn rewrite(&mut self, record: &RunRecord) -> Result<(), StoreError> {
        self.lock = write::locked_record(&self.path.join("run.json"), record)?;
        Ok(())
    }

    /// The path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Ends the writing, and returns the directory's path.
    pub fn close(self) -> PathBuf {
        self.path
    }

    /// Creates `trials/<nnn>-<name>` with its files, which are still empty, and `begun.json`, which
    /// has the record as far as it is known.
    ///
    /// # Errors
    /// [`StoreError::Write`], also if a trial of this number and name exists.
    pub fn trial(&self, begun: &TrialRecord, name: &str) -> Result<TrialDirectory, StoreError> {
        let name = format!("{:03}-{}", begun.number, file_name(name));
        let path = self.path.join("trials").join(name);
        fs::create_dir(&path)
            .and_then(|()| fs::create_dir(path.join("logs")))
            .map_err(|source| StoreError::Write { path: path.clone(), source })?;
        let grow = |name: &str| AppendFile::create(path.join(name));
        let mut histograms = grow("seconds.hlog")?;
        histograms.numbers(Writer::head)?;
        write::record(&path.join("begun.json"), begun)?;
        Ok(TrialDirectory {
            seconds: grow("seconds.ndjson")?,
            resources: grow("resources.ndjson")?,
            errors: grow("errors.ndjson")?,
            histograms,
            writer: Writer::new(),
            phase: None,
            failed: None,
            pages: String::new(),
            path,
        })
    }
}

/// A row of `pages.ndjson`: the text of a page before the load, with secrets masked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageText {
    /// The SHA-256 that the record of the page has.
    pub text_sha256: String,
    /// Status, headers that an app means, an empty line, and the body, without what differs by time
    /// and place.
    pub text: String,
}

/// The directory of the running trial. It receives events and writes each row at once. That is one
/// write per file and second, and none per request. A directory without `trial.json` is an
/// unfinished trial.
#[derive(Debug)]
pub struct TrialDirectory {
    path: PathBuf,
    seconds: AppendFile,
    histograms: AppendFile,
    resources: AppendFile,
    errors: AppendFile,
    writer: Writer,
    phase: Option<Phase>,
    /// The first failure, which `finish` returns.
    failed: Option<StoreError>,
    /// The content of `pages.ndjson`.
    pages: String,
}

impl TrialDirectory {
    /// The path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps the beginning of the app's answer before the load, with secrets masked. It shows where
    /// the answers of two runtimes differ. `finish` returns a failure.
    pub fn save_answer(&mut self, answer: &str) {
        let begin: String = answer.chars().take(ANSWER_CHARS).collect();
        let written = write::whole(&self.path.join(ANSWER), &Masked::foreign(&begin));
        self.remember(written);
    }

    /// Keeps the texts of pages, which show where the answers of two runtimes differ: `pages.ndjson`. Of
    /// many long pages the first are kept. `finish` returns a failure.
    pub fn save_pages(&mut self, pages: &[PageRecord]) {
        let before = self.pages.len();
        for page in pages.iter().filter(|page| !page.text.is_empty()) {
            let row = PageText { text_sha256: page.text_sha256.clone(), text: page.text.clone() };
            let Ok(row) = serde_json::to_string(&row) else { continue };
            if self.pages.len() + row.len() <= PAGES_BYTES {
                self.pages += &(row + "\n");
            }
        }
        if self.pages.len() > before {
            let written = write::whole(&self.path.join(PAGES), &Masked::rendered(&self.pages));
            self.remember(written);
        }
    }

    /// Keeps the last 1 MiB of a runtime's log file in `logs/`, with secrets masked. `from` is
    /// its path, of which the name is kept. `finish` returns a failure.
    pub fn save_log(&mut self, from: &Path, log: File) {
        let kept = log::keep(from, log, &self.path.join("logs"));
        self.remember(kept);
    }

    /// Writes `total.hlog` and, as the last file, `trial.json`. `totals` has all times of the
    /// measured load; `None` if the load never started.
    ///
    /// # Errors
    /// The first failure since the directory was created. Then there is no `trial.json`.
    pub fn finish(
        mut self,
        record: &TrialRecord,
        totals: Option<&TimeSet>,
    ) -> Result<PathBuf, StoreError> {
        if let Some(failed) = self.failed {
            return Err(failed);
        }
        for file in [&mut self.seconds, &mut self.histograms, &mut self.resources, &mut self.errors]
        {
            file.sync()?;
        }
        if let Some(totals) = totals {
            let path = self.path.join("total.hlog");
            let lasted = record.load.as_ref().map_or(Nanos(0), |load| Nanos(load.lasted_ns));
            let mut bytes = Vec::new();
            Writer::head(&mut bytes)
                .and_then(|()| self.writer.interval(Nanos(0), lasted, totals, &mut bytes))
                .map_err(|source| StoreError::Write { path: path.clone(), source })?;
            write::whole(&path, &Masked::numbers(bytes))?;
        }
        write::record(&self.path.join("trial.json"), record)?;
        // If the removal fails, the file does no harm: a trial with `trial.json` has ended.
        let _ = fs::remove_file(self.path.join("begun.json"));
        Ok(self.path)
    }

    fn second(&mut self, second: &Second) -> Result<(), StoreError> {
        let start = Nanos::from_secs(second.index.into());
        self.seconds.rows([SecondRecord::from(second)])?;
        let writer = &mut self.writer;
        self.histograms
            .numbers(|into| writer.interval(start, Nanos::SECOND, &second.times, into))?;
        self.errors.rows(errors_of(second))
    }

    fn resources(&mut self, sample: &ResourceSample) -> Result<(), StoreError> {
        self.resources.rows([sample])
    }

    fn remember(&mut self, result: Result<(), StoreError>) {
        if let (Err(error), None) = (result, &self.failed) {
            self.failed = Some(error);
        }
    }
}

impl EventListener for TrialDirectory {
    /// Discards the seconds of the warm-up and the monitor's readings during it.
    fn event(&mut self, event: &Event<'_>) {
        let discarded = self.phase == Some(Phase::WarmUp) || self.failed.is_some();
        let written = match event {
            Event::Phase { phase, .. } => {
                self.phase = Some(*phase);
                Ok(())
            }
            Event::Second(second) if !discarded => self.second(second),
            Event::Resources(sample) if !discarded => self.resources(sample),
            _ => Ok(()),
        };
        self.remember(written);
    }
}

fn errors_of(second: &Second) -> impl Iterator<Item = ErrorRecord> {
    let dropped = ("dropped", second.counts.dropped);
    let failed = second.counts.failed.iter().map(|(kind, count)| (kind.as_str(), *count));
    failed.chain([dropped]).filter(|(_, count)| *count > 0).map(|(kind, count)| ErrorRecord {
        second: second.index,
        kind: kind.to_owned(),
        count,
    })
}
