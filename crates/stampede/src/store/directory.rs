//! The directory of a run, and of a trial while it is measured.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use stampede_load::report::{Second, TimeSet};
use stampede_load::time::Nanos;

use super::hlog::Writer;
use super::name::file_name;
use super::read::ANSWER;
use super::record::{ErrorRecord, RunRecord, SecondRecord, TrialRecord};
use super::write::{self, Growing, Lock};
use super::{RESULTS, StoreError, log};
use crate::event::{Event, Listen, Phase};
use crate::mask::mask_foreign;
use crate::monitor::sample::ResourceSample;

/// Kept of an answer: differences show early, and a page may be large.
const ANSWER_CHARS: usize = 64 << 10;

/// The directory of one run.
#[derive(Debug)]
pub struct RunDirectory {
    path: PathBuf,
    /// Held while the run is written: see [`super::RunState`].
    lock: Lock,
}

impl RunDirectory {
    /// Makes `out`, or `stampede-results/<id>` in the current directory, and writes `run.json`
    /// before anything is measured.
    ///
    /// # Errors
    /// [`StoreError::Exists`] for a directory that is there, [`StoreError::Write`] otherwise.
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

    /// Writes `run.json` anew, whole or not at all: its order has grown.
    ///
    /// # Errors
    /// [`StoreError::Write`].
    pub fn rewrite(&mut self, record: &RunRecord) -> Result<(), StoreError> {
        self.lock = write::locked_record(&self.path.join("run.json"), record)?;
        Ok(())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Nothing more will be written; answers with where it is.
    pub fn close(self) -> PathBuf {
        self.path
    }

    /// Makes `trials/<nnn>-<name>` with its files, still empty, and `begun.json`: the record as
    /// far as it is known.
    ///
    /// # Errors
    /// [`StoreError::Write`], also when a trial of this number and name is there.
    pub fn trial(&self, begun: &TrialRecord, name: &str) -> Result<TrialDirectory, StoreError> {
        let name = format!("{:03}-{}", begun.number, file_name(name));
        let path = self.path.join("trials").join(name);
        fs::create_dir(&path)
            .and_then(|()| fs::create_dir(path.join("logs")))
            .map_err(|source| StoreError::Write { path: path.clone(), source })?;
        let grow = |name: &str| Growing::create(path.join(name));
        let mut histograms = grow("seconds.hlog")?;
        histograms.append(Writer::head)?;
        write::record(&path.join("begun.json"), begun)?;
        Ok(TrialDirectory {
            seconds: grow("seconds.ndjson")?,
            resources: grow("resources.ndjson")?,
            errors: grow("errors.ndjson")?,
            histograms,
            writer: Writer::new(),
            phase: None,
            failed: None,
            path,
        })
    }
}

/// The directory of the trial under way. Takes events and writes each row as it comes: one
/// write per file and second, nothing per request. Without `trial.json` a directory is an
/// unfinished trial.
#[derive(Debug)]
pub struct TrialDirectory {
    path: PathBuf,
    seconds: Growing,
    histograms: Growing,
    resources: Growing,
    errors: Growing,
    writer: Writer,
    phase: Option<Phase>,
    /// The first failure: `finish` returns it.
    failed: Option<StoreError>,
}

impl TrialDirectory {
    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps the beginning of what the app's page answered before the load, secrets masked: what
    /// two runtimes answer differently is looked for in it. A failure is returned by `finish`.
    pub fn keep_answer(&mut self, answer: &str) {
        let begin: String = answer.chars().take(ANSWER_CHARS).collect();
        let path = self.path.join(ANSWER);
        let written = fs::write(&path, mask_foreign(&begin));
        self.remember(written.map_err(|source| StoreError::Write { path, source }));
    }

    /// Keeps the last 1 MiB of a runtime's log file in `logs/`, secrets masked, by `mask` those
    /// that are known. A file that is not there is passed over; a failure is returned by `finish`.
    pub fn keep_log(&mut self, from: &Path, mask: impl Fn(String) -> String) {
        let kept = log::keep(from, &self.path.join("logs"), mask);
        self.remember(kept);
    }

    /// Writes `total.hlog` and, last, `trial.json`. `totals`: all times of the measured load,
    /// `None` when it never started.
    ///
    /// # Errors
    /// The first failure since the directory was made; then there is no `trial.json`.
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
            write::whole(&path, &bytes)?;
        }
        write::record(&self.path.join("trial.json"), record)?;
        // Where it cannot go it does no harm: a trial with `trial.json` has ended.
        let _ = fs::remove_file(self.path.join("begun.json"));
        Ok(self.path)
    }

    fn second(&mut self, second: &Second) -> Result<(), StoreError> {
        let start = Nanos::from_secs(second.index.into());
        self.seconds.rows([SecondRecord {
            second: second.index,
            counts: second.counts.clone(),
            in_flight_max: second.in_flight_max,
            busy_ns: second.busy.0,
        }])?;
        let writer = &mut self.writer;
        self.histograms
            .append(|into| writer.interval(start, Nanos::SECOND, &second.times, into))?;
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

impl Listen for TrialDirectory {
    /// The warm-up's seconds are discarded; its readings of the monitor are not taken either.
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
