//! The rate at which the requests of a recording were made, as a schedule that can be sent again.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use stampede_model::load::Habits;
use stampede_model::schedule::{MicroRate, Problem, Segment, Segments};
use stampede_model::time::Nanos;

use super::read::{Entry, TrafficReader};
use super::{Request, Tags, TrafficError, TrafficFile};

/// When the requests of a file were made, counted in steps of whole seconds.
///
/// The schedule has exactly as many requests as the file, in its order: a log is written when a
/// request ends, so one whose time is before the one above it counts as made with that one. Within
/// a step the requests are spread evenly, for most logs have whole seconds. Read as a stream: the
/// memory is that of [`STEPS_MAX`] numbers, however long the file is.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedRate {
    /// As many requests in each step as were made then.
    pub schedule: Segments,
    /// Length of a step as it was recorded: a second, or more where the recording is longer than
    /// [`STEPS_MAX`] seconds.
    pub step: Nanos,
    /// Requests whose time is not in the file. They count as made with the one above.
    pub without_time: u64,
}

/// How much faster than they were made requests are sent again: `2x`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Factor(f64);

/// Why a text is no factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a factor from 0.001 to 1000")]
pub struct FactorError;

/// Why the rate of a recording is unknown.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordedRateError {
    /// The file cannot be read.
    #[error(transparent)]
    Traffic(#[from] TrafficError),
    /// It can be read only once, and the requests come after their times.
    #[error("request file `{}` can be read only once", .0.display())]
    Pipe(PathBuf),
    /// It does not say when its requests were made.
    #[error("request file `{}` has no times of its requests", .0.display())]
    NoTimes(PathBuf),
    /// Most times are before the ones above them.
    #[error("the times in request file `{}` go backwards", .0.display())]
    Backwards(PathBuf),
    /// The times make no schedule.
    #[error("the times in request file `{}` make no schedule: {problem}", path.display())]
    NoSchedule {
        /// Path of the file.
        path: PathBuf,
        /// What is wrong with it.
        problem: Problem,
    },
}

impl RecordedRateError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            RecordedRateError::Traffic(error) => error.hint(),
            RecordedRateError::Pipe(_) => "write it to a file first",
            RecordedRateError::NoTimes(_) => {
                "only access logs have times; say --rate or --schedule for other files"
            }
            RecordedRateError::Backwards(_) => "sort the log by time, the oldest line first",
            RecordedRateError::NoSchedule { problem: Problem::TooLong, .. } => {
                "a load lasts 7 days at most: take a part of the log, or a higher --speed"
            }
            RecordedRateError::NoSchedule { .. } => {
                "look at the log's times with `stampede traffic`"
            }
        }
    }
}

impl RecordedRate {
    /// The rate of `file`, for the requests that a load sends of it.
    ///
    /// # Errors
    /// The file cannot be read, or has no times that make a schedule.
    pub fn of(
        file: &TrafficFile,
        habits: Habits,
        factor: Factor,
    ) -> Result<RecordedRate, RecordedRateError> {
        RecordedRate::read(TrafficReader::of(file, habits, &Tags::new())?, factor)
    }

    pub(super) fn read(
        mut reading: TrafficReader,
        factor: Factor,
    ) -> Result<RecordedRate, RecordedRateError> {
        let path = reading.file().path.clone();
        if reading.length.is_none() {
            return Err(RecordedRateError::Pipe(path));
        }
        let unreadable = |source| {
            let (path, source) = (path.clone(), Arc::new(source));
            RecordedRateError::Traffic(TrafficError::Unreadable { path, source })
        };
        let (mut request, mut steps) = (Request::default(), Steps::new());
        loop {
            match reading.next(&mut request).map_err(unreadable)? {
                Entry::Request => steps.add(reading.time_ns().map(|ns| ns / Nanos::SECOND.0)),
                Entry::Skipped(_) | Entry::Broken(_) => {}
                Entry::End => break,
            }
        }
        if steps.first_s.is_none() {
            return Err(RecordedRateError::NoTimes(path));
        }
        if steps.backwards * 2 > steps.requests() {
            return Err(RecordedRateError::Backwards(path));
        }
        let schedule = steps.schedule(factor);
        let no_schedule = |problem| RecordedRateError::NoSchedule { path, problem };
        Ok(RecordedRate {
            schedule: schedule.map_err(no_schedule)?,
            step: Nanos(steps.step_s * Nanos::SECOND.0),
            without_time: steps.without_time,
        })
    }
}

/// Requests by the step in which they were made.
#[derive(Debug)]
struct Steps {
    counts: Vec<u64>,
    step_s: u64,
    /// The first time, in seconds since 1970.
    first_s: Option<u64>,
    /// The latest time so far, in seconds since the first one.
    last_s: u64,
    without_time: u64,
    /// Requests long before the latest one above them.
    backwards: u64,
}

impl Steps {
    fn new() -> Steps {
        Steps {
            counts: Vec::new(),
            step_s: 1,
            first_s: None,
            last_s: 0,
            without_time: 0,
            backwards: 0,
        }
    }

    fn requests(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Adds a request that was made at this second since 1970.
    fn add(&mut self, second: Option<u64>) {
        match (second, self.first_s) {
            (Some(second), Some(first_s)) => {
                let is_backwards = second + REQUEST_S_MAX < first_s + self.last_s;
                self.backwards += u64::from(is_backwards);
                self.last_s = self.last_s.max(second.saturating_sub(first_s));
            }
            (Some(second), None) => self.first_s = Some(second),
            (None, _) => self.without_time += 1,
        }
        while self.last_s / self.step_s >= STEPS_MAX {
            self.step_s *= 2;
            self.counts = self.counts.chunks(2).map(|pair| pair.iter().sum()).collect();
        }
        let place = (self.last_s / self.step_s) as usize;
        if self.counts.len() <= place {
            self.counts.resize(place + 1, 0);
        }
        self.counts[place] += 1;
    }

    /// The schedule with these counts. A rate has whole millionths and is rounded down, for a request
    /// that is due before a pause and not after it would be far too early. The last rate makes up
    /// for that, so that the number of requests is exact.
    fn schedule(&self, factor: Factor) -> Result<Segments, Problem> {
        let step_ns = (self.step_s * Nanos::SECOND.0) as f64 / factor.0;
        let step_ns = (step_ns.round() as u64).max(1);
        let runs: Vec<&[u64]> = self.counts.chunk_by(|one, next| one == next).collect();
        let (mut segments, mut owed) = (Vec::new(), 0);
        for (place, run) in runs.iter().enumerate() {
            let length = step_ns.saturating_mul(run.len() as u64);
            let requests = u128::from(run[0]) * run.len() as u128;
            let wanted = requests * REQUEST_AREA + owed;
            let rate = match place + 1 == runs.len() {
                true => wanted.div_ceil(u128::from(length)),
                false => (wanted - owed) / u128::from(length),
            };
            owed = wanted.saturating_sub(rate * u128::from(length));
            let rate = MicroRate(u64::try_from(rate).unwrap_or(u64::MAX));
            segments.push(Segment::Const { rate, length: Nanos(length) });
        }
        Segments::new(segments)
    }
}

impl Factor {
    /// As they were made.
    pub const RECORDED: Factor = Factor(1.0);
}

impl FromStr for Factor {
    type Err = FactorError;

    fn from_str(text: &str) -> Result<Factor, FactorError> {
        let factor = text.trim().strip_suffix(['x', 'X']).unwrap_or(text.trim());
        let factor: f64 = factor.parse().map_err(|_| FactorError)?;
        (0.001..=1_000.0).contains(&factor).then_some(Factor(factor)).ok_or(FactorError)
    }
}

impl fmt::Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x", self.0)
    }
}

/// One request: a rate in millionths per second, times nanoseconds.
const REQUEST_AREA: u128 = 1_000_000_000_000_000;
/// Most steps. An hour has as many seconds; a day is counted in steps of 32 seconds.
pub const STEPS_MAX: u64 = 3_600;
/// How much earlier than the latest one above it a request may have been made. A log is written
/// when a request ends, and few take longer.
const REQUEST_S_MAX: u64 = 60;
