//! The files that `fire` writes besides its summary. A file that cannot be created is refused
//! before the first request. A file that cannot be written is reported at the end, because the load
//! is measured all the same.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Read as _, Seek as _, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use stampede_linux::space;
use stampede_load::outcome::Outcome;
use stampede_load::report::{LoadResult, RequestRecord};
use stampede_load::spec::Load;
use stampede_mask::{Masked, mask_known};
use stampede_model::counts::Second;
use stampede_model::time::Nanos;
use stampede_plan::autostop::net_code_of;
use stampede_results::store::hlog;
use stampede_results::summary::model::LoadModel;
use stampede_stats::histogram::Times;
use stampede_stats::percentile::{Ranked, rank};
use stampede_traffic::{Tag, Tags};

use super::phout::Row;
use super::prometheus;
use super::remote::RemoteLoad;
use super::report::Report;
use super::run::FireRun;
use crate::cli::args_fire::FileFlags;
use crate::cli::fail::CommandError;

/// Why one of the files cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// A file is to be written to stdout.
    #[error("`-` cannot be used here: stdout already has the summary")]
    StdoutTaken,
    /// Two files have the same path.
    #[error("two files would be written to `{}`", path.display())]
    SamePath {
        /// The path.
        path: PathBuf,
    },
    /// The file cannot be created.
    #[error("cannot write `{}`", path.display())]
    NotCreated {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
    /// A part of the file cannot be written.
    #[error("cannot write `{}`", path.display())]
    CutShort {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
}

impl CommandError for OutputError {
    fn hint(&self) -> Option<String> {
        if let OutputError::NotCreated { path, source } | OutputError::CutShort { path, source } =
            self
            && let Some(of_disk) = space::hint(path, source.kind(), "name a file elsewhere")
        {
            return Some(of_disk);
        }
        let hint = match self {
            OutputError::StdoutTaken => "name a file, such as `seconds.csv`",
            OutputError::SamePath { .. } => "give each a name of its own",
            OutputError::NotCreated { .. } => {
                "name a file in a directory that exists and that you may write to"
            }
            OutputError::CutShort { .. } => {
                "the summary is whole; what the file has of whole lines stays"
            }
        };
        Some(hint.to_owned())
    }
}

/// All files of a load. Files that were not requested are `None`.
pub struct Files {
    csv: Option<OutputFile>,
    hlog: Option<OutputFile>,
    writer: hlog::Writer,
    prometheus: Option<OutputFile>,
    phout: Option<OutputFile>,
    /// The run directory.
    pub run: Option<FireRun>,
    /// Not a file, but written in the same places.
    pub remote: Option<RemoteLoad>,
    model: LoadModel,
    about: PhoutContext,
}

/// What a row of `phout` needs besides the request.
struct PhoutContext {
    /// Start of the load.
    began: SystemTime,
    tags: Tags,
    /// Names of the tags, without secrets.
    names: BTreeMap<Tag, String>,
}

/// A file that is written until a write fails.
pub(super) struct OutputFile {
    path: PathBuf,
    file: BufWriter<File>,
    failed: Option<std::io::Error>,
    /// What of it is of use if a write fails.
    of_use: OfUse,
}

/// What is of use of a file that was not written to its end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OfUse {
    /// Its whole lines: each tells of a second or a request.
    Lines,
    /// Nothing: it is one set of figures.
    Nothing,
}

impl OutputFile {
    fn create(path: &Path) -> Result<OutputFile, OutputError> {
        if path == Path::new("-") {
            return Err(OutputError::StdoutTaken);
        }
        let file = File::create(path)
            .map_err(|source| OutputError::NotCreated { path: path.to_owned(), source })?;
        let (path, file) = (path.to_owned(), BufWriter::new(file));
        Ok(OutputFile { path, file, failed: None, of_use: OfUse::Lines })
    }

    fn whole_or_none(path: &Path) -> Result<OutputFile, OutputError> {
        Ok(OutputFile { of_use: OfUse::Nothing, ..OutputFile::create(path)? })
    }

    /// Writes content. After a failure nothing more is written, because half a row would be read as
    /// a row.
    pub(super) fn write(&mut self, content: &Masked) {
        if self.failed.is_none() {
            self.failed = self.file.write_all(content.bytes()).err();
        }
    }

    /// Writes text without secrets, which a tag or a check's text may contain.
    pub(super) fn write_text(&mut self, text: &str) {
        self.write(&Masked::rendered(text));
    }

    /// Half a line at the end would be read as a row, and half a set of figures as a whole one. So they
    /// are removed after a failure.
    fn close(mut self) -> Option<OutputError> {
        let flushed = self.file.flush().err();
        let source = self.failed.or(flushed)?;
        // What the buffer still holds would be written when it is dropped.
        let (file, _) = self.file.into_parts();
        let is_file = file.metadata().is_ok_and(|about| about.is_file());
        let _ = match self.of_use {
            _ if !is_file => Ok(()),
            OfUse::Lines => remove_torn_line(&file, &self.path),
            OfUse::Nothing => std::fs::remove_file(&self.path),
        };
        Some(OutputError::CutShort { path: self.path, source })
    }
}

/// Shortens a file to its last whole line, and removes it if it has none.
fn remove_torn_line(file: &File, path: &Path) -> std::io::Result<()> {
    let mut end = file.metadata()?.len();
    // The file is only open for writing.
    let mut read = File::open(path)?;
    while end > 0 {
        let begin = end.saturating_sub(BLOCK);
        let mut block = Vec::new();
        read.seek(SeekFrom::Start(begin))?;
        (&mut read).take(end - begin).read_to_end(&mut block)?;
        if let Some(at) = block.iter().rposition(|byte| *byte == b'\n') {
            return file.set_len(begin + at as u64 + 1);
        }
        end = begin;
    }
    std::fs::remove_file(path)
}

/// The bytes in which the last line break is looked for at once.
const BLOCK: u64 = 64 << 10;

fn each_has_its_own(flags: &FileFlags) -> Result<(), OutputError> {
    let all = [&flags.csv, &flags.hlog, &flags.prometheus, &flags.phout];
    // Several outputs may share /dev/null.
    let is_file = |path: &&PathBuf| std::fs::metadata(path).map_or(true, |about| about.is_file());
    let mut paths: Vec<&PathBuf> = all.into_iter().flatten().filter(is_file).collect();
    paths.sort();
    match paths.windows(2).find(|two| two[0] == two[1]) {
        Some(twice) => Err(OutputError::SamePath { path: twice[0].clone() }),
        None => Ok(()),
    }
}

impl Files {
    /// Creates the files, still empty. Refuses two files with the same path.
    pub fn create(flags: &FileFlags) -> Result<Files, OutputError> {
        each_has_its_own(flags)?;
        let output = |path: &Option<PathBuf>| path.as_deref().map(OutputFile::create).transpose();
        Ok(Files {
            csv: output(&flags.csv)?,
            hlog: output(&flags.hlog)?,
            writer: hlog::Writer::new(),
            prometheus: flags.prometheus.as_deref().map(OutputFile::whole_or_none).transpose()?,
            phout: output(&flags.phout)?,
            run: None,
            remote: None,
            model: LoadModel::Open,
            about: PhoutContext {
                began: SystemTime::now(),
                tags: Tags::new(),
                names: BTreeMap::new(),
            },
        })
    }

    /// Prepares the files for the measured load.
    pub fn begin(&mut self, load: &Load) {
        self.model = LoadModel::from(&load.model);
        self.about = PhoutContext {
            began: SystemTime::now(),
            tags: load.traffic.tags.clone(),
            names: BTreeMap::new(),
        };
        if let Some(csv) = &mut self.csv {
            csv.write_text(CSV_HEAD);
        }
        if let Some(output) = &mut self.hlog {
            let mut head = Vec::new();
            output.failed = hlog::Writer::head(&mut head).err();
            output.write(&Masked::numbers(head));
        }
    }

    /// The load began, after its warm-up: what is written of a request counts from there.
    pub fn began(&mut self, at: Instant) {
        let (now, wall) = (Instant::now(), SystemTime::now());
        self.about.began = match at.checked_duration_since(now) {
            Some(ahead) => wall + ahead,
            None => wall - now.duration_since(at),
        };
    }

    /// Writes a second of the load.
    pub fn second(&mut self, second: &Second) {
        if let Some(run) = &mut self.run {
            run.second(second);
        }
        if let Some(remote) = &mut self.remote {
            remote.second(second);
        }
        if let Some(csv) = &mut self.csv {
            csv.write_text(&csv_row(second, self.model));
        }
        if let Some(output) = &mut self.hlog {
            let mut lines = Vec::new();
            let start = Nanos::from_secs(u64::from(second.index));
            let times = &second.times;
            let made = self.writer.interval(start, Nanos::SECOND, times, &mut lines);
            output.failed = output.failed.take().or(made.err());
            output.write(&Masked::numbers(lines));
        }
    }

    /// Writes requests that ended.
    pub fn requests(&mut self, requests: &[RequestRecord]) {
        let Some(phout) = &mut self.phout else { return };
        for request in requests {
            // The tag was masked when it was first used.
            phout.write(&Masked::numbers(self.about.line(request).into_bytes()));
        }
    }

    /// Writes the figures of the whole load.
    pub fn end(&mut self, report: &Report, result: &LoadResult) {
        if let Some(output) = &mut self.prometheus {
            output.write_text(&prometheus::text(report, result));
        }
    }

    /// Closes the files. Returns an error for each that could not be written.
    pub fn written(self) -> Vec<OutputError> {
        let all = [self.csv, self.hlog, self.prometheus, self.phout];
        all.into_iter().flatten().filter_map(OutputFile::close).collect()
    }
}

impl PhoutContext {
    fn line(&mut self, request: &RequestRecord) -> String {
        let net_code = match request.outcome {
            Outcome::Net(net) => net_code_of(net),
            _ => 0,
        };
        let tag = self.names.entry(request.tag);
        let tag = tag.or_insert_with(|| mask_known(&self.tags.name(request.tag)).into_owned());
        let row = Row {
            tag,
            started: request.started,
            connected: request.connected,
            sent: request.sent,
            first_byte: request.first_byte,
            done: request.done,
            bytes_sent: request.bytes_sent,
            bytes_received: request.bytes_received,
            net_code,
            status: request.status.unwrap_or(0),
        };
        row.line(self.began)
    }
}

/// Formats a second as a row. Errors are written as `kind=count`, one per line. Percentiles are
/// those of the requests that ended in this second. They are `failed` if they fall on a request
/// without a correct answer, and empty if no request ended.
fn csv_row(second: &Second, model: LoadModel) -> String {
    let counts = &second.counts;
    let errors = counts.failed.iter().map(|(kind, count)| format!("{kind}={count}"));
    let errors: Vec<String> = errors.collect();
    let mut row = format!(
        "{},{},{},{},{},{},{},{},{},{}",
        second.index,
        counts.planned,
        counts.started,
        counts.ok,
        counts.failed_total(),
        counts.dropped,
        counts.bytes_received,
        counts.bytes_sent,
        second.in_flight_max,
        second.busy.0
    );
    let failed = counts.failed_total() + counts.dropped;
    let times = &second.times;
    // In the closed model requests have no due time.
    let of_response = if model == LoadModel::Open { failed } else { 0 };
    for (answered, failed) in [(&times.response_time, of_response), (&times.service_time, failed)] {
        for percent in PERCENTS {
            row.push_str(&format!(",{}", at(answered, failed, percent)));
        }
    }
    row.push_str(&format!(
        ",{},{}\n",
        at(&times.schedule_lag, 0, 99.0),
        quoted(&errors.join("\n"))
    ));
    row
}

/// Quotes a field of CSV (RFC 4180).
fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

/// Returns a percentile, even if few requests lie beyond it, because a second has only few
/// requests.
fn at(answered: &Times, failed: u64, percent: f64) -> String {
    let planned = Ranked { answered, failed }.planned();
    match rank(percent, planned) {
        _ if planned == 0 => String::new(),
        rank if rank > answered.len() => "failed".to_owned(),
        rank => answered.at_rank(rank).to_string(),
    }
}

/// Percentiles of each second's times. 100 is the maximum.
const PERCENTS: [f64; 5] = [50.0, 90.0, 95.0, 99.0, 100.0];

const CSV_HEAD: &str = "second,planned,started,ok,failed,dropped,bytes_in,bytes_out,in_flight_max,cpu_ns,\
response_time_ns_p50,response_time_ns_p90,response_time_ns_p95,response_time_ns_p99,response_time_ns_max,\
service_time_ns_p50,service_time_ns_p90,service_time_ns_p95,service_time_ns_p99,service_time_ns_max,\
schedule_lag_ns_p99,errors\n";

#[cfg(test)]
mod tests {
    use stampede_model::counts::{Counts, TimeSet};

    use super::*;

    #[test]
    fn a_full_disk_is_named_and_leaves_whole_lines_alone() {
        let place = tempfile::tempdir().expect("a directory");
        let disk = place.path();
        stampede_testing::small_disk::with_small_disk(disk, 64 << 10, || {
            let mut rows = OutputFile::create(&disk.join("rows.csv")).expect("there is room");
            let mut figures =
                OutputFile::whole_or_none(&disk.join("all.prom")).expect("there is room");
            for number in 0..20_000 {
                rows.write_text(&format!("row {number}\n"));
            }
            figures.write_text("figure 1\n");
            for file in [rows, figures] {
                let error = file.close().expect("there is no room");
                let hint = error.hint().expect("what to do");
                let named = format!("the file system at `{}`", disk.display());
                assert!(hint.contains("free some space") && hint.contains(&named), "{hint}");
            }
            assert!(!disk.join("all.prom").exists());
            let text = std::fs::read_to_string(disk.join("rows.csv")).expect("it stays");
            let lines: Vec<&str> = text.lines().collect();
            assert!(text.ends_with('\n') && lines.len() > 1_000, "{} lines", lines.len());
            for (number, line) in lines.iter().enumerate() {
                assert_eq!(*line, format!("row {number}"));
            }
        });
    }

    #[test]
    fn a_second_is_a_row_also_where_nothing_ended() {
        let mut times = TimeSet::empty();
        (1..=100).for_each(|ms| times.response_time.record(ms * 1_000_000));
        times.service_time = times.response_time.clone();
        let failed = BTreeMap::from([("http:502".to_owned(), 3), ("net:reset".to_owned(), 2)]);
        let rule = ("check:json $.a == [1, \"x\"]".to_owned(), 1);
        let failed = failed.into_iter().chain([rule]).collect();
        let counts = Counts { planned: 106, started: 106, ok: 100, failed, ..Counts::default() };
        let busy = Nanos::from_millis(12);
        let full = Second { index: 0, counts, times, in_flight_max: 4, busy };
        let (counts, times) = (Counts::default(), TimeSet::empty());
        let empty = Second { index: 1, counts, times, in_flight_max: 0, busy: Nanos(0) };
        let rows = [csv_row(&full, LoadModel::Open), csv_row(&empty, LoadModel::Open)];
        insta::assert_snapshot!(format!("{CSV_HEAD}{}{}", rows[0], rows[1]));
    }
}
