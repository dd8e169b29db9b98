//! Runs a load: starts the load threads on a common clock, and adds up their results.

mod thread;
mod threads;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::error::Error;
use std::sync::mpsc;
use std::{fmt, io};

use serde::Serialize;
use stampede_linux::guarded_thread::Panicked;
use stampede_model::counts::{End, Second};
use stampede_model::load::{Model, Until};
use stampede_model::part::Part;
use stampede_model::stop::Stop;
use stampede_model::time::Nanos;

use crate::check::RULES_MAX;
use crate::collector::Collected;
use crate::driver::ThreadReport;
use crate::example::{UnusualLengths, merged};
use crate::open_files;
use crate::report::{Listener, LoadResult};
use crate::spec::Load;
use stampede_traffic::answer::Aside;
use stampede_traffic::{Passes, Source, TrafficError, TrafficNotes, supply};
use thread::ThreadLoad;
use threads::LoadThreads;

/// Why there is no result. Except for a panic, nothing was sent then: once requests are sent,
/// everything that goes wrong is an outcome.
#[derive(Debug, thiserror::Error, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LoadError {
    /// `Load::traffic` is empty.
    #[error("no request to send")]
    NoTraffic,
    /// `max_in_flight`, `concurrency` or the passes are zero.
    #[error("`{0}` is 0, at least 1 is needed")]
    Zero(&'static str),
    /// `Load::check` has more rules than can be counted separately.
    #[error("{0} checks, {RULES_MAX} is the most")]
    TooManyRules(usize),
    /// The CPU does not exist, or this process may not use it.
    #[error("load thread cannot be pinned to CPU `{cpu}`")]
    Pin {
        /// Number of the CPU.
        cpu: usize,
        /// Error of the kernel.
        #[serde(skip)]
        source: io::Error,
    },
    /// The engine could not be created: no file descriptor is left, or the path of a Unix socket is
    /// too long.
    #[error("load engine cannot be set up")]
    Engine(
        #[serde(skip)]
        #[source]
        io::Error,
    ),
    /// The thread could not be started.
    #[error("load thread cannot be started")]
    Thread(
        #[serde(skip)]
        #[source]
        io::Error,
    ),
    /// A thread panicked, which is a bug of ours. The other threads were stopped. The listener was
    /// given all seconds that were measured.
    #[error("thread `{thread}` panicked: {message}")]
    ThreadPanicked {
        /// Name of the thread: `load 0` and so on, or `traffic` for the one that reads a file.
        thread: String,
        /// Message of the panic; empty where it has none.
        message: String,
    },
    /// The load was to be sent from elsewhere, and could not.
    #[error(transparent)]
    Elsewhere(#[serde(skip)] ElsewhereError),
    /// The traffic could not be read.
    #[error(transparent)]
    #[serde(untagged)]
    LoadTraffic(#[from] TrafficError),
}

/// Why a load could not be sent from elsewhere: from another machine, for example.
#[derive(Debug)]
pub struct ElsewhereError {
    error: Box<dyn Error + Send + Sync>,
    hint: Option<String>,
}

impl ElsewhereError {
    /// An error of another generator, and what to do about it.
    pub fn new(error: impl Error + Send + Sync + 'static, hint: Option<String>) -> ElsewhereError {
        ElsewhereError { error: Box::new(error), hint }
    }
}

impl fmt::Display for ElsewhereError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(formatter)
    }
}

impl Error for ElsewhereError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.error.source()
    }
}

/// See [`InProcess`](crate::InProcess).
pub(crate) fn run_load(
    load: &Load,
    stop: &Stop,
    listener: &mut dyn Listener,
) -> Result<LoadResult, LoadError> {
    let connections = check(load)?;
    // Needing more than the hard limit is no error: missing files are counted as `net:no-file`.
    let _ = open_files::raise_to(u64::from(connections) + SPARE_FILES);
    let threads = if load.cpus.is_empty() { load.threads as usize } else { load.cpus.len() };
    let threads = threads.clamp(1, connections as usize);
    let warm_up = load.warm_up.as_ref().map(|model| Load {
        model: model.clone(),
        warm_up: None,
        records: false,
        ..load.clone()
    });
    let mut supplies = Vec::with_capacity(2);
    for load in warm_up.iter().chain([load]) {
        supplies.push((load, supply(&load.traffic, load.habits, load.part, threads, stop)?));
    }
    let (to_us, messages) = mpsc::channel();
    let mut load_threads = LoadThreads::new(stop);
    for share in Part::all(threads as u32) {
        let parts = supplies.iter_mut().map(|(load, supply)| ThreadLoad {
            load: (*load).clone(),
            feed: supply.feeds.remove(0),
            traffic: supply.end,
            tagging: supply.tagging,
        });
        load_threads.spawn_thread(load, share, parts.collect(), to_us.clone())?;
    }
    drop(to_us);
    if warm_up.is_some() {
        load_threads.run(None, &messages, &load.check, &mut WarmUpListener(listener));
    }
    let begin = listener.before_load();
    let mut collected = load_threads.run(begin, &messages, &load.check, listener);
    let reports = load_threads.join()?;
    let tags = std::mem::take(&mut collected.tags);
    let mut result = sum(collected, &reports);
    let (_, mut supply) = supplies.pop().expect("the load's own is the last");
    let notes = supply.notes();
    result.traffic = notes.map_err(|panicked| LoadError::of_panic("traffic", panicked))?;
    let (ok, failed) = (result.counts.ok, result.counts.failed_total());
    result.tags = supply.figures(&tags, (ok, failed, &result.times));
    Ok(result)
}

/// Shows the seconds of a warm-up, which count for nothing.
struct WarmUpListener<'a>(&'a mut dyn Listener);

impl Listener for WarmUpListener<'_> {
    fn second(&mut self, second: &Second) {
        self.0.warm_up_second(second);
    }
}

impl LoadError {
    /// What to do about the error, where that is known.
    pub fn hint(&self) -> Option<Cow<'static, str>> {
        match self {
            LoadError::LoadTraffic(error) => Some(error.hint().into()),
            LoadError::ThreadPanicked { .. } => {
                Some("this is a bug of stampede: please report it".into())
            }
            LoadError::Elsewhere(error) => error.hint.clone().map(Cow::Owned),
            _ => None,
        }
    }

    fn of_panic(thread: &str, Panicked { message }: Panicked) -> LoadError {
        LoadError::ThreadPanicked { thread: thread.to_owned(), message }
    }
}

/// Checks the load. Returns how many connections it may have at once.
fn check(load: &Load) -> Result<u32, LoadError> {
    if matches!(&load.traffic.source, Source::List(list) if list.is_empty()) {
        return Err(LoadError::NoTraffic);
    }
    if load.traffic.passes == Passes::Times(0) {
        return Err(LoadError::Zero("passes"));
    }
    if load.check.rules.len() > RULES_MAX {
        return Err(LoadError::TooManyRules(load.check.rules.len()));
    }
    let connections = |model: &Model| match own_connections(model, load.part) {
        0 => Err(LoadError::Zero(match model {
            Model::Open { .. } => "max_in_flight",
            Model::Closed { .. } => "concurrency",
        })),
        connections => Ok(connections),
    };
    let warm_up = load.warm_up.as_ref().map(connections).transpose()?;
    Ok(connections(&load.model)?.min(warm_up.unwrap_or(u32::MAX)))
}

/// The connections that a part of a load may have at once.
pub(crate) fn own_connections(model: &Model, part: Part) -> u32 {
    part.share_u32(match *model {
        Model::Open { max_in_flight, .. } => max_in_flight,
        Model::Closed { concurrency, .. } => concurrency,
    })
}

/// The model of one part of a load, with its own limits. Its schedule is still that of the whole.
fn own_model(model: &Model, part: Part) -> Model {
    match model {
        Model::Open { schedule, arrivals, max_in_flight, when_full } => Model::Open {
            schedule: schedule.clone(),
            arrivals: *arrivals,
            max_in_flight: part.share_u32(*max_in_flight),
            when_full: *when_full,
        },
        Model::Closed { concurrency, until } => Model::Closed {
            concurrency: part.share_u32(*concurrency),
            until: match *until {
                Until::For(length) => Until::For(length),
                Until::Requests(requests) => Until::Requests(part.share(requests)),
            },
        },
    }
}

/// Combines the threads' reports with what was collected.
pub(crate) fn sum(collected: Collected, reports: &[ThreadReport]) -> LoadResult {
    let longest = |of: fn(&ThreadReport) -> Nanos| reports.iter().map(of).max().unwrap_or_default();
    let largest = |of: fn(&ThreadReport) -> f64| reports.iter().map(of).fold(0.0, f64::max);
    let stopped = reports.iter().any(|report| report.end == End::Stopped);
    let mut aside = Aside::default();
    reports.iter().for_each(|report| aside.add(report.aside));
    let mut unusual = UnusualLengths::default();
    reports.iter().for_each(|report| unusual.add(&report.unusual));
    LoadResult {
        counts: collected.counts,
        times: collected.times,
        service_time_all: collected.service_time_all,
        connect_time: collected.connect_time,
        scheduled: longest(|report| report.scheduled),
        lasted: longest(|report| report.lasted),
        ok_inside: collected.ok_inside,
        in_flight_integral: reports.iter().map(|report| report.in_flight_integral).sum(),
        in_flight_max: reports.iter().map(|report| report.in_flight_max).sum(),
        connections: reports.iter().map(|report| &report.connections).sum(),
        aside,
        unusual,
        busy_share_max: largest(|report| report.busy_share),
        examples: merged(reports.iter().flat_map(|report| &report.examples)),
        stretched: largest(|report| report.stretched).max(1.0),
        engine: reports.first().map_or("", |report| report.engine).to_owned(),
        not_due: reports.iter().map(|report| report.not_due).sum(),
        end: if stopped { End::Stopped } else { End::Complete },
        tags: BTreeMap::new(),
        records_lost: collected.records_lost,
        traffic: TrafficNotes::default(),
        odd: collected.odd,
        agents: Vec::new(),
    }
}

/// Descriptors besides the connections: the standard streams, epoll and timer of each thread,
/// result files, and those of the rest of the program.
const SPARE_FILES: u64 = 128;
