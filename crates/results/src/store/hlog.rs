//! Reads and writes histograms on disk. The format is HDR V2 (deflated) in the interval log that
//! HdrHistogram's own tools read, with one line per second and kind of time. Starts and lengths are
//! in seconds since the measurement began, values in ns.

use std::io;
use std::path::Path;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::interval_log::{
    IntervalLogHistogram, IntervalLogIterator, IntervalLogWriterBuilder, LogEntry, Tag,
};
use hdrhistogram::serialization::{Deserializer, V2DeflateSerializer};
use serde::Serialize;
use stampede_model::counts::TimeSet;
use stampede_model::fact::stored::Damage;
use stampede_model::time::Nanos;
use stampede_stats::histogram::Times;

use super::StoreError;

/// What is wrong with a line of a histogram log.
#[derive(Debug, thiserror::Error, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HistogramError {
    /// The line does not have the log's format.
    #[error("not a line of an interval log")]
    NotALine,
    /// The line's bytes are not base64.
    #[error(transparent)]
    Base64(
        #[serde(skip)]
        #[from]
        base64::DecodeError,
    ),
    /// The line's bytes are not a histogram.
    #[error(transparent)]
    Encoding(
        #[serde(skip)]
        #[from]
        hdrhistogram::serialization::DeserializeError,
    ),
    /// The histogram comes from another program.
    #[error("its bounds are not stampede's")]
    Bounds,
}

/// Converts sets of times into lines.
pub struct Writer(V2DeflateSerializer);

impl Writer {
    /// A writer that is ready to use.
    pub fn new() -> Writer {
        Writer(V2DeflateSerializer::new())
    }

    /// Writes the first line of a file.
    pub fn head(into: &mut Vec<u8>) -> io::Result<()> {
        into.extend_from_slice(HEAD.as_bytes());
        Ok(())
    }

    /// Writes one interval: a line for each kind of time that has values.
    ///
    /// # Errors
    /// Only if hdrhistogram cannot serialize.
    pub fn interval(
        &mut self,
        start: Nanos,
        length: Nanos,
        times: &TimeSet,
        into: &mut Vec<u8>,
    ) -> io::Result<()> {
        let mut log = IntervalLogWriterBuilder::new().begin_log_with(into, &mut self.0)?;
        for (tag, times) in by_tag(times) {
            if !times.is_empty() {
                let (start, length) = (Duration::from(start), Duration::from(length));
                log.write_histogram(times.histogram(), start, length, Tag::new(tag))
                    .map_err(io::Error::other)?;
            }
        }
        Ok(())
    }
}

impl Default for Writer {
    fn default() -> Writer {
        Writer::new()
    }
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Writer")
    }
}

/// A line that was read.
#[derive(Clone, Debug)]
pub struct Line {
    /// Start of the line's interval, since the measurement began.
    pub start: Nanos,
    /// Kind of time: `response_time`, `response_time_without_lag`, `lower_bound`,
    /// `service_time`, `connection_wait` or `schedule_lag`.
    pub tag: String,
    /// The times.
    pub times: Times,
}

/// Adds a line to the set. A line with an unknown tag is left out.
pub fn merge(line: &Line, into: &mut TimeSet) {
    match line.tag.as_str() {
        "response_time" => into.response_time.merge(&line.times),
        "response_time_without_lag" => into.response_time_without_lag.merge(&line.times),
        "lower_bound" => into.lower_bound.merge(&line.times),
        "service_time" => into.service_time.merge(&line.times),
        "connection_wait" => into.connection_wait.merge(&line.times),
        "schedule_lag" | "lateness" => into.schedule_lag.merge(&line.times),
        _ => {}
    }
}

/// Reads a file line by line, and passes each line to `take`. Returns a notice if the last line is
/// incomplete, because the trial was cut off while it was written.
///
/// # Errors
/// [`StoreError::Read`], and [`StoreError::DamagedHistogram`] for any complete line.
pub fn read(path: &Path, mut take: impl FnMut(Line)) -> Result<Option<Damage>, StoreError> {
    let bytes =
        std::fs::read(path).map_err(|source| StoreError::Read { path: path.to_owned(), source })?;
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let mut deserializer = Deserializer::new();
    for (index, line) in bytes[..whole].split_inclusive(|byte| *byte == b'\n').enumerate() {
        let damaged =
            |what| StoreError::DamagedHistogram { path: path.to_owned(), line: index + 1, what };
        for entry in IntervalLogIterator::new(line) {
            match entry {
                Ok(LogEntry::Interval(interval)) => {
                    take(decode(&interval, &mut deserializer).map_err(damaged)?);
                }
                Ok(_) => {}
                Err(_) => return Err(damaged(HistogramError::NotALine)),
            }
        }
    }
    Ok((whole < bytes.len()).then(|| super::torn(path)))
}

fn decode(
    interval: &IntervalLogHistogram<'_>,
    deserializer: &mut Deserializer,
) -> Result<Line, HistogramError> {
    let bytes = STANDARD.decode(interval.encoded_histogram())?;
    let histogram: Histogram<u64> = deserializer.deserialize(&mut bytes.as_slice())?;
    let times = Times::from_histogram(&histogram).ok_or(HistogramError::Bounds)?;
    let tag = interval.tag().map(|tag| tag.as_str().to_owned()).unwrap_or_default();
    Ok(Line { start: Nanos::from(interval.start_timestamp()), tag, times })
}

fn by_tag(times: &TimeSet) -> [(&'static str, &Times); 6] {
    [
        ("response_time", &times.response_time),
        ("response_time_without_lag", &times.response_time_without_lag),
        ("lower_bound", &times.lower_bound),
        ("service_time", &times.service_time),
        ("connection_wait", &times.connection_wait),
        ("schedule_lag", &times.schedule_lag),
    ]
}

/// The version is that of the log's format, as HdrHistogram's `HistogramLogWriter` writes it.
const HEAD: &str = "#[Histogram log format version 1.3]\n\
                    #[stampede: starts and lengths in s since measuring began, values in ns]\n";
