//! Runs a load: starts the load threads on a common clock, and adds up their results.

use std::collections::BTreeMap;
use std::io;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use rustix::thread::{CpuSet, sched_setaffinity};
use serde::Serialize;
use stampede_model::counts::{Connections, End, Second};
use stampede_model::load::{Model, Until};
use stampede_model::schedule::Segments;
use stampede_model::stop::Stop;
use stampede_model::time::Nanos;

use crate::check::RULES_MAX;
use crate::collector::{Collected, collect};
use crate::driver::{
    Closed, Driver, DriverParts, LoadParts, Open, OpenParts, Pace, ScheduleShare, ThreadReport,
};
use crate::engine::Engine;
use crate::engine::epoll::{Epoll, WaitMode};
use crate::engine::uring::Uring;
use crate::example::merged;
use crate::protocol::Protocol;
use crate::protocol::fastcgi::FastCgi;
use crate::protocol::head::SharedParsing;
use crate::protocol::http1::{HEAD_BYTES_MAX, Http1};
use crate::protocol::tls::{Connector, Tls};
use crate::recorder::{IntervalStats, MeasuredTimes, Message, Recorder, ReturnedBuffer};
use crate::report::{Listener, LoadResult};
use crate::spec::{CpuSharing, EngineChoice, Load, Wire};
use crate::traffic::feed::{Feed, TrafficEnd};
use crate::traffic::{Passes, Source, Tagging, TrafficError, TrafficNotes, supply};
use crate::{open_files, sched};

/// Why nothing was sent. Once requests are sent, everything that goes wrong is an outcome.
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
    /// The traffic could not be read.
    #[error(transparent)]
    #[serde(untagged)]
    LoadTraffic(#[from] TrafficError),
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
    let loads = warm_up.iter().chain([load]);
    let mut supplies = Vec::with_capacity(2);
    for load in loads.clone() {
        supplies.push((load, supply(&load.traffic, load.habits, threads, stop)?));
    }
    let (to_us, messages) = mpsc::channel();
    let mut load_threads = LoadThreads::default();
    for thread in 0..threads {
        let share = Share { thread, threads };
        let parts = supplies.iter_mut().map(|(load, supply)| ThreadLoad {
            load: (*load).clone(),
            feed: supply.feeds.remove(0),
            traffic: supply.end,
            tagging: supply.tagging,
        });
        let parts = parts.collect();
        load_threads.spawn_thread(load, stop, share, parts, to_us.clone())?;
    }
    drop(to_us);
    let back = std::mem::take(&mut load_threads.back);
    if warm_up.is_some() {
        let back: Vec<_> = back.iter().map(|back| back[0].clone()).collect();
        load_threads.begin();
        collect(&messages, &back, &load.check, &mut WarmUpListener(listener));
    }
    listener.before_load();
    listener.began(load_threads.begin());
    let back: Vec<_> = back.iter().filter_map(|back| back.last().cloned()).collect();
    let mut collected = collect(&messages, &back, &load.check, listener);
    let reports = load_threads.threads.into_iter().map(|thread| match thread.join() {
        Ok(report) => report,
        Err(panic) => std::panic::resume_unwind(panic),
    });
    let reports: Vec<ThreadReport> = reports.flatten().collect();
    let tags = std::mem::take(&mut collected.tags);
    let mut result = sum(collected, &reports);
    let (_, mut supply) = supplies.pop().expect("the load's own is the last");
    result.traffic = supply.notes();
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
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            LoadError::LoadTraffic(error) => Some(error.hint()),
            _ => None,
        }
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
    let connections = |model: &Model| match *model {
        Model::Open { max_in_flight: 0, .. } => Err(LoadError::Zero("max_in_flight")),
        Model::Closed { concurrency: 0, .. } => Err(LoadError::Zero("concurrency")),
        Model::Open { max_in_flight, .. } => Ok(max_in_flight),
        Model::Closed { concurrency, .. } => Ok(concurrency),
    };
    let warm_up = load.warm_up.as_ref().map(connections).transpose()?;
    Ok(connections(&load.model)?.min(warm_up.unwrap_or(u32::MAX)))
}

/// The load threads, set up and waiting for the start.
#[derive(Default)]
struct LoadThreads {
    /// For each thread and each of its loads, where emptied buffers are returned.
    back: Vec<Vec<Sender<ReturnedBuffer>>>,
    begin: Vec<Sender<Instant>>,
    /// A thread returns `None` if it was told to end before the start.
    threads: Vec<JoinHandle<Option<ThreadReport>>>,
}

impl LoadThreads {
    /// Starts a load thread, and returns once it is pinned and has all it needs. After an error,
    /// the threads spawned before end, because they never receive a start.
    fn spawn_thread(
        &mut self,
        load: &Load,
        stop: &Stop,
        share: Share,
        loads: Vec<ThreadLoad>,
        to_us: Sender<Message>,
    ) -> Result<(), LoadError> {
        let (back, empty): (Vec<_>, Vec<_>) = loads.iter().map(|_| buffers()).unzip();
        let (begin, starts) = mpsc::channel();
        let (ready, is_ready) = mpsc::channel();
        let load = load.clone();
        let stop = stop.clone();
        let work = move || {
            sched::unshare_descriptors();
            sched::reduce_wakeup_delay();
            let pinned = load.cpus.get(share.thread).map_or(Ok(()), |cpu| pin(*cpu));
            match pinned.and_then(|()| engine(&load)) {
                Ok(engine) => {
                    let loads = loads.into_iter().zip(empty);
                    let loads = loads.map(|(load, empty)| load.set_up(share, to_us.clone(), empty));
                    let loads: Vec<LoadParts> = loads.collect();
                    let _ = ready.send(Ok(()));
                    run_thread(&load, engine, loads, &stop, &starts)
                }
                Err(error) => {
                    let _ = ready.send(Err(error));
                    None
                }
            }
        };
        let name = format!("load {}", share.thread);
        let thread = thread::Builder::new().name(name).spawn(work).map_err(LoadError::Thread)?;
        is_ready.recv().unwrap_or(Ok(()))?;
        self.back.push(back);
        self.begin.push(begin);
        self.threads.push(thread);
        Ok(())
    }

    /// Lets all threads begin their next load, and returns the zero of its clock.
    fn begin(&self) -> Instant {
        let epoch = Instant::now();
        // A thread that has ended by now has panicked; joining it reports the panic.
        self.begin.iter().for_each(|begin| {
            let _ = begin.send(epoch);
        });
        epoch
    }
}

/// The buffers of a load thread, which circulate. There are three, one of them in the recorder. So a
/// load thread allocates none, even when a listener is a second late.
fn buffers() -> (Sender<ReturnedBuffer>, Receiver<ReturnedBuffer>) {
    let (back, empty) = mpsc::channel();
    for _ in 0..2 {
        let _ = back.send(ReturnedBuffer::IntervalStats(Box::new(IntervalStats::new())));
    }
    (back, empty)
}

/// What a load thread needs of its own for one load.
struct ThreadLoad {
    load: Load,
    feed: Feed,
    traffic: TrafficEnd,
    tagging: Tagging,
}

impl ThreadLoad {
    fn set_up(
        self,
        share: Share,
        to_us: Sender<Message>,
        empty: Receiver<ReturnedBuffer>,
    ) -> LoadParts {
        let load = &self.load;
        let recorder = Recorder::new(share.thread, measured_times(load), to_us, empty);
        let recorder = with_details(recorder, load, self.tagging);
        LoadParts { pace: pace(load, share, self.traffic), recorder, feed: self.feed }
    }
}

/// Which share of the load a thread sends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    pub(crate) thread: usize,
    pub(crate) threads: usize,
}

impl Share {
    /// This thread's share of `whole`; shares differ by at most one.
    pub(crate) fn of(self, whole: u64) -> u64 {
        let (thread, threads) = (self.thread as u64, self.threads as u64);
        whole / threads + u64::from(thread < whole % threads)
    }

    fn of_u32(self, whole: u32) -> u32 {
        u32::try_from(self.of(u64::from(whole))).expect("a part is no larger than the whole")
    }
}

fn pin(cpu: usize) -> Result<(), LoadError> {
    let mut only = CpuSet::new();
    if cpu >= CpuSet::MAX_CPU {
        let source = io::Error::from_raw_os_error(libc::EINVAL);
        return Err(LoadError::Pin { cpu, source });
    }
    only.set(cpu);
    sched_setaffinity(None, &only).map_err(|errno| LoadError::Pin { cpu, source: errno.into() })?;
    sched::raise_priority();
    Ok(())
}

/// How a load thread waits: it spins only on a CPU that was named for it and that the server does
/// not use.
fn wait_mode(load: &Load) -> WaitMode {
    match load.cpu_sharing {
        CpuSharing::Exclusive if !load.cpus.is_empty() => WaitMode::Spin,
        CpuSharing::Exclusive | CpuSharing::WithServer => WaitMode::Sleep,
    }
}

fn engine(load: &Load) -> Result<ChosenEngine, LoadError> {
    let (target, now) = (&load.target, Instant::now());
    let (wait_mode, timestamps) = (wait_mode(load), load.timestamps);
    let connections = match load.model {
        Model::Open { max_in_flight, .. } => max_in_flight,
        Model::Closed { concurrency, .. } => concurrency,
    };
    let engine = match load.engine {
        EngineChoice::Epoll => {
            Epoll::new(target, wait_mode, timestamps, now).map(ChosenEngine::Epoll)
        }
        EngineChoice::IoUring => {
            Uring::new(target, connections, wait_mode, timestamps, now).map(ChosenEngine::Uring)
        }
    };
    engine.map_err(LoadError::Engine)
}

fn measured_times(load: &Load) -> MeasuredTimes {
    match load.model {
        Model::Open { .. } => MeasuredTimes::ResponseTime,
        Model::Closed { .. } => MeasuredTimes::ServiceTime,
    }
}

fn with_details(recorder: Recorder, load: &Load, tagging: Tagging) -> Recorder {
    let recorder = match tagging {
        Tagging::Only(_) => recorder,
        Tagging::Separate => recorder.with_tags(),
    };
    if load.records { recorder.with_records() } else { recorder }
}

fn pace(load: &Load, share: Share, traffic: TrafficEnd) -> Pace {
    match &load.model {
        Model::Open { schedule, arrivals, max_in_flight, when_full } => {
            let schedule_share = |schedule: &Segments| {
                ScheduleShare::new(
                    Box::new(schedule.due_times(*arrivals)),
                    share.thread,
                    share.threads,
                )
            };
            Pace::Open(Open::new(OpenParts {
                plan: schedule_share(schedule),
                starts: schedule_share(schedule),
                length: schedule.length(),
                limit: share.of_u32(*max_in_flight),
                when_full: *when_full,
                traffic,
                timeout: load.timeout,
            }))
        }
        Model::Closed { concurrency, until } => {
            let until = match *until {
                Until::For(length) => Until::For(length),
                Until::Requests(requests) => Until::Requests(share.of(requests)),
            };
            Pace::Closed(Closed::new(share.of_u32(*concurrency), until))
        }
    }
}

/// The engine that was chosen for a load thread.
#[expect(clippy::large_enum_variant, reason = "one a thread, moved twice")]
enum ChosenEngine {
    Epoll(Epoll),
    Uring(Uring),
}

/// Runs the loads of a thread one after the other. Returns the report of the last one; `None` if a
/// start did not come.
fn run_thread(
    load: &Load,
    engine: ChosenEngine,
    loads: Vec<LoadParts>,
    stop: &Stop,
    starts: &Receiver<Instant>,
) -> Option<ThreadReport> {
    match engine {
        ChosenEngine::Epoll(engine) => run_protocol(load, engine, loads, stop, starts),
        ChosenEngine::Uring(engine) => run_protocol(load, engine, loads, stop, starts),
    }
}

/// The only place where protocols and engines are combined.
fn run_protocol<E: Engine>(
    load: &Load,
    engine: E,
    loads: Vec<LoadParts>,
    stop: &Stop,
    starts: &Receiver<Instant>,
) -> Option<ThreadReport> {
    match &load.wire {
        Wire::Http1 => {
            let common = SharedParsing::new(&load.check);
            let protocol = || Http1::with_shared(&common, load.habits, HEAD_BYTES_MAX);
            run_driver(load, engine, protocol, loads, stop, starts)
        }
        Wire::FastCgi => {
            let common = SharedParsing::new(&load.check);
            let protocol = || FastCgi::with_shared(&common, load.habits.connection, HEAD_BYTES_MAX);
            run_driver(load, engine, protocol, loads, stop, starts)
        }
        Wire::Tls(setup) => {
            let connector = Connector::new(setup);
            let common = SharedParsing::new(&load.check);
            let http = || Http1::with_shared(&common, load.habits, HEAD_BYTES_MAX);
            let protocol = || Tls::new(&connector, http());
            run_driver(load, engine, protocol, loads, stop, starts)
        }
    }
}

fn run_driver<P: Protocol, E: Engine>(
    load: &Load,
    mut engine: E,
    protocol: impl Fn() -> P,
    loads: Vec<LoadParts>,
    stop: &Stop,
    starts: &Receiver<Instant>,
) -> Option<ThreadReport> {
    let (timeout, check, habit) = (load.timeout, load.check.clone(), load.habits.connection);
    let mut loads = loads.into_iter();
    let LoadParts { pace, recorder, feed } = loads.next()?;
    engine.begin(starts.recv().ok()?);
    let parts = DriverParts { engine, protocol, pace, recorder, feed, timeout, check, habit };
    let mut driver = Driver::new(parts);
    let mut report = driver.run(stop);
    for load in loads {
        driver.begin(starts.recv().ok()?, load);
        report = driver.run(stop);
    }
    Some(report)
}

/// Combines the threads' reports with what was collected.
pub(crate) fn sum(collected: Collected, reports: &[ThreadReport]) -> LoadResult {
    let longest = |of: fn(&ThreadReport) -> Nanos| reports.iter().map(of).max().unwrap_or_default();
    let largest = |of: fn(&ThreadReport) -> f64| reports.iter().map(of).fold(0.0, f64::max);
    let stopped = reports.iter().any(|report| report.end == End::Stopped);
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
        connections: Connections {
            opened: reports.iter().map(|report| report.connections.opened).sum(),
            never_answered: reports.iter().map(|report| report.connections.never_answered).sum(),
            sources: reports.iter().map(|report| report.connections.sources).max().unwrap_or(1),
        },
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
    }
}

/// Descriptors besides the connections: the standard streams, epoll and timer of each thread,
/// result files, and those of the rest of the program.
const SPARE_FILES: u64 = 128;
