//! What one load thread does: its share of the load, its engine, and the protocol that it speaks.

use std::sync::mpsc::{Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use stampede_model::load::{Model, Until};
use stampede_model::part::Part;
use stampede_model::schedule::Segments;
use stampede_model::stop::Stop;

use super::{LoadError, own_connections, own_model};
use crate::driver::{
    Closed, Driver, DriverParts, LoadParts, Open, OpenParts, Pace, ScheduleShare, ThreadReport,
};
use crate::engine::Engine;
use crate::engine::epoll::{Epoll, WaitMode};
use crate::engine::uring::Uring;
use crate::protocol::Protocol;
use crate::protocol::fastcgi::FastCgi;
use crate::protocol::head::SharedParsing;
use crate::protocol::http1::{HEAD_BYTES_MAX, Http1};
use crate::protocol::tls::{Connector, Tls};
use crate::recorder::{MeasuredTimes, Message, Recorder, ReturnedBuffer};
use crate::sched;
use crate::spec::{CpuSharing, EngineChoice, Load, Timestamps, Wire};
use stampede_traffic::Tagging;
use stampede_traffic::feed::{Feed, TrafficEnd};

/// What a load thread needs of its own for one load.
pub(super) struct ThreadLoad {
    pub(super) load: Load,
    pub(super) feed: Feed,
    pub(super) traffic: TrafficEnd,
    pub(super) tagging: Tagging,
}

impl ThreadLoad {
    pub(super) fn set_up(
        self,
        share: Part,
        to_us: Sender<Message>,
        empty: Receiver<ReturnedBuffer>,
    ) -> LoadParts {
        let load = &self.load;
        let recorder = Recorder::new(share.index() as usize, measured_times(load), to_us, empty);
        let recorder = with_details(recorder, load, self.tagging);
        LoadParts { pace: pace(load, share, self.traffic), recorder, feed: self.feed }
    }
}

/// Pins the calling thread.
pub(super) fn pin(cpu: usize) -> Result<(), LoadError> {
    sched::pin(cpu).map_err(|source| LoadError::Pin { cpu, source })?;
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

/// Sets up the engine of a load thread, on that thread.
pub(super) fn engine(load: &Load) -> Result<ChosenEngine, LoadError> {
    let (target, now) = (&load.target, Instant::now());
    let (wait_mode, timestamps) = (wait_mode(load), load.timestamps);
    let connections = own_connections(&load.model, load.part);
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
    let recorder = match load.timestamps.on(&load.target) {
        Timestamps::Kernel => recorder,
        Timestamps::Userspace => recorder.with_lower_bound(),
    };
    if load.records { recorder.with_records() } else { recorder }
}

/// `share`: which part of this process's load is the thread's.
fn pace(load: &Load, share: Part, traffic: TrafficEnd) -> Pace {
    match &own_model(&load.model, load.part) {
        Model::Open { schedule, arrivals, max_in_flight, when_full } => {
            let schedule_share = |schedule: &Segments| {
                ScheduleShare::new(Box::new(schedule.due_times_of(*arrivals, load.part)), share)
            };
            Pace::Open(Open::new(OpenParts {
                plan: schedule_share(schedule),
                starts: schedule_share(schedule),
                length: schedule.length(),
                limit: share.share_u32(*max_in_flight),
                when_full: *when_full,
                traffic,
                timeout: load.timeout,
            }))
        }
        Model::Closed { concurrency, until } => {
            let until = match *until {
                Until::For(length) => Until::For(length),
                Until::Requests(requests) => Until::Requests(share.share(requests)),
            };
            Pace::Closed(Closed::new(share.share_u32(*concurrency), until))
        }
    }
}

/// The engine that was chosen for a load thread.
#[expect(clippy::large_enum_variant, reason = "one a thread, moved twice")]
pub(super) enum ChosenEngine {
    Epoll(Epoll),
    Uring(Uring),
}

/// Runs the loads of a thread one after the other. Returns the report of the last one; `None` if a
/// start did not come.
pub(super) fn run_loads(
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
    let epoch = starts.recv().ok()?;
    wait_until(epoch);
    engine.begin(epoch);
    let parts = DriverParts { engine, protocol, pace, recorder, feed, timeout, check, habit };
    let mut driver = Driver::new(parts);
    let mut report = driver.run(stop);
    for load in loads {
        let epoch = starts.recv().ok()?;
        wait_until(epoch);
        driver.begin(epoch, load);
        report = driver.run(stop);
    }
    Some(report)
}

/// Sleeps until shortly before this moment, because sleeps end late, and spins the rest.
fn wait_until(moment: Instant) {
    let left = moment.saturating_duration_since(Instant::now());
    thread::sleep(left.saturating_sub(SPIN_BEFORE_START));
    while Instant::now() < moment {
        std::hint::spin_loop();
    }
}

/// Sleeps end some 0.1 ms late on a virtual machine, seldom more than this.
const SPIN_BEFORE_START: Duration = Duration::from_micros(500);
