//! Watches what the whole stack spends, once a second, for 1 % of a CPU at most.
//!
//! ```text
//! parse (text → numbers) ← role, host (files kept open, differences) ← reader ← thread
//! ```
//! CPU comes from the cgroup's counters where there is one, else from `/proc` of the
//! processes. Memory comes from `memory.stat`, else it is proportional memory (PSS) at
//! most every 5 s, which leaves out kernel memory: /proc does not tell it by process.
//!
//! What changes faster is looked at five times a second: where each worker stands (`workers`),
//! and how full the queues of the stack's sockets are (`listeners`).

mod aside;
#[cfg(test)]
mod fake;
mod host;
mod limit;
mod listeners;
pub mod parse;
mod process;
mod quota;
pub mod reader;
mod role;
pub mod sample;
mod source;
mod workers;

use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde::Serialize;

use rustix::time::{ClockId, clock_gettime};
use stampede_load::time::Nanos;

use crate::keeper::spec::ProcessGroup;
pub use aside::Aside;
use reader::{Position, Reader};
pub use role::oom_kills;
use sample::{OwnSample, ResourceSample};
pub use source::Sources;
pub use workers::{IdleIn, Workers, fits};

/// A running monitor: one thread. It ends when this is dropped.
#[derive(Debug)]
pub struct Monitor {
    /// `None` once it was told to end.
    end: Option<SyncSender<()>>,
    /// `None` once it was waited for.
    thread: Option<JoinHandle<Vec<ResourceSample>>>,
}

impl Monitor {
    /// Starts reading: every `interval` from now, each row handed to `sink` from the
    /// monitor's own thread as it comes. What `sink` does counts as the monitor's CPU time.
    ///
    /// # Errors
    /// [`MonitorError::NoInterval`] for an interval below 10 ms, `Unreadable` where a cgroup
    /// of the group is not there, `NoThread` when none could be started.
    pub fn watch(
        group: ProcessGroup,
        interval: Nanos,
        mut sink: impl FnMut(ResourceSample) + Send + 'static,
    ) -> Result<Monitor, MonitorError> {
        Monitor::watch_with(group, None, interval, move |row| sink(row.clone()))
    }

    /// The same, looking at the workers too. `sink` may add to a row what it knows.
    ///
    /// # Errors
    /// As `watch`.
    pub fn watch_with(
        group: ProcessGroup,
        workers: Option<Workers>,
        interval: Nanos,
        sink: impl FnMut(&mut ResourceSample) + Send + 'static,
    ) -> Result<Monitor, MonitorError> {
        if interval < SHORTEST {
            return Err(MonitorError::NoInterval { interval });
        }
        let began = Instant::now();
        let reader = Reader::open(Sources::default(), &group, Nanos(0))?.with_workers(workers);
        let (end, ended) = sync_channel(1);
        let thread = std::thread::Builder::new()
            .name("monitor".to_owned())
            .spawn(move || read_until(&ended, began, interval, reader, sink))
            .map_err(|source| MonitorError::NoThread { source })?;
        Ok(Monitor { end: Some(end), thread: Some(thread) })
    }

    /// Takes the last, shorter reading, and returns all of them. To be called while the
    /// stack still lives: what has ended holds no memory.
    ///
    /// # Errors
    /// [`MonitorError::Panicked`] when the thread did.
    pub fn finish(mut self) -> Result<Vec<ResourceSample>, MonitorError> {
        self.end = None; // hangs up: the thread wakes at once
        let thread = self.thread.take().expect("only `finish` and `drop` take it");
        thread.join().map_err(|_| MonitorError::Panicked)
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        self.end = None;
        if let Some(thread) = self.thread.take() {
            // A panic was printed by its own thread; nobody asks for the rows any more.
            let _ = thread.join();
        }
    }
}

/// Why a stack cannot be watched.
#[derive(Debug, thiserror::Error, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MonitorError {
    /// Readings that often would disturb what they measure.
    #[error("the monitor cannot read every {} ns, 10 ms at least", interval.0)]
    NoInterval {
        /// What was asked for.
        #[serde(rename = "interval_ns")]
        interval: Nanos,
    },
    /// A file of a cgroup that must be there is not.
    #[error("role `{role}` cannot be watched at `{path}`")]
    Unreadable {
        /// Whose.
        role: String,
        /// Which file.
        path: PathBuf,
        /// What the system said.
        #[serde(skip)]
        source: io::Error,
    },
    /// No thread.
    #[error("the monitor's thread did not start")]
    NoThread {
        /// What the system said.
        #[serde(skip)]
        source: io::Error,
    },
    /// Our own bug.
    #[error("the monitor's thread panicked")]
    Panicked,
}

/// The monitor's thread: a reading at every multiple of `interval` after `began`, and one
/// when `ended` hangs up; looks in between.
fn read_until(
    ended: &Receiver<()>,
    began: Instant,
    interval: Nanos,
    mut reader: Reader,
    mut sink: impl FnMut(&mut ResourceSample),
) -> Vec<ResourceSample> {
    let mut rows = Vec::new();
    reader.start_own_at(own_cpu());
    loop {
        let now = Nanos::from(began.elapsed());
        let (reading, look) = (next_reading(now, interval), next_reading(now, LOOK_EVERY));
        let wait = reading.min(look).since(now);
        let position = match ended.recv_timeout(Duration::from(wait)) {
            Err(RecvTimeoutError::Timeout) if look < reading => {
                reader.look();
                continue;
            }
            Err(RecvTimeoutError::Timeout) => Position::Middle,
            Ok(()) | Err(RecvTimeoutError::Disconnected) => Position::Edge,
        };
        let mut row = reader.read(Nanos::from(began.elapsed()), own_cpu(), position);
        sink(&mut row);
        rows.push(row);
        if position == Position::Edge {
            return rows;
        }
    }
}

/// The first multiple of `interval` after `now`: multiplied out, so that readings do not
/// drift, and those missed while the machine was busy are left out, not made up for.
fn next_reading(now: Nanos, interval: Nanos) -> Nanos {
    Nanos((now.0 / interval.0 + 1).saturating_mul(interval.0))
}

/// CPU time of the calling thread and of the whole process so far.
fn own_cpu() -> OwnSample {
    let ns = |clock| {
        let time = clock_gettime(clock);
        // CPU clocks start at zero with the thread or process: never negative.
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    };
    OwnSample { monitor_cpu_ns: ns(ClockId::ThreadCPUTime), cpu_ns: ns(ClockId::ProcessCPUTime) }
}

/// A look costs at most 0.3 ms: 64 workers, and the sockets.
const LOOK_EVERY: Nanos = Nanos::from_millis(200);
/// Below this the readings themselves would cost more than 1 % of a CPU.
const SHORTEST: Nanos = Nanos::from_millis(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readings_are_multiples_of_the_interval_and_missed_ones_are_left_out() {
        let next = |ms| next_reading(Nanos::from_millis(ms), Nanos::SECOND);
        assert_eq!(next(0), Nanos::from_secs(1));
        assert_eq!(next(999), Nanos::from_secs(1));
        assert_eq!(next(1_000), Nanos::from_secs(2));
        assert_eq!(next(3_600_001), Nanos::from_secs(3_601));
        assert_eq!(next(5_400), Nanos::from_secs(6));
    }

    #[test]
    fn errors_say_what_and_where() {
        let group = ProcessGroup { roles: Vec::new() };
        let error = Monitor::watch(group, Nanos(0), |_| {}).expect_err("no interval");
        insta::assert_snapshot!(error, @"the monitor cannot read every 0 ns, 10 ms at least");
        insta::assert_snapshot!(MonitorError::Panicked, @"the monitor's thread panicked");
        let no_thread = MonitorError::NoThread { source: io::Error::other("x") };
        insta::assert_snapshot!(no_thread, @"the monitor's thread did not start");
    }
}
