//! Watches once a second what the whole stack uses. The monitor itself may use at most 1 % of a
//! CPU.
//!
//! ```text
//! linux (text → numbers) ← role, host (files kept open, differences) ← reader ← thread
//! ```
//! CPU time comes from the cgroup's counters if there are any, else from `/proc` of the processes.
//! Memory comes from `memory.stat`. Otherwise it is proportional memory (PSS), read at most every 5
//! s. PSS leaves out kernel memory, because `/proc` does not show that for each process.
//!
//! Two things change faster and are read five times a second: what each worker does (`workers`),
//! and how full the queues of the stack's sockets are (`listeners`).

mod aside;
mod elsewhere;
#[cfg(test)]
mod fake;
mod host;
mod limit;
mod listeners;
mod local_role;
pub mod machine;
mod others;
mod process;
mod quota;
pub mod reader;
mod role;
mod session_locks;
mod source;
mod transfer;
mod workers;

use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use serde::Serialize;

use rustix::time::{ClockId, clock_gettime};
use stampede_linux::guarded_thread::GuardedThread;
use stampede_model::time::Nanos;

pub use aside::InterferenceMeter;
pub use local_role::oom_kills;
use reader::{Reader, ReadingPosition};
pub use source::Sources;
use stampede_model::process_group::ProcessGroup;
use stampede_model::sample::{OwnSample, ResourceSample};
pub use workers::{IdleIn, WorkerPattern, matches_pattern};

/// A running monitor, which has one thread. Dropping this value ends it.
#[derive(Debug)]
pub struct Monitor {
    /// `None` once the thread was asked to end.
    end: Option<SyncSender<()>>,
    /// `None` once the thread was joined.
    thread: Option<GuardedThread<Vec<ResourceSample>>>,
}

impl Monitor {
    /// Starts reading. A reading is taken every `interval` from now, and the monitor's thread
    /// passes each to `sink` at once. CPU time of `sink` counts as the monitor's.
    ///
    /// # Errors
    /// [`MonitorError::NoInterval`] if the interval is below 10 ms, `Unreadable` if a cgroup of the
    /// group is missing, `NoThread` if the thread did not start.
    pub fn watch(
        group: ProcessGroup,
        interval: Nanos,
        mut sink: impl FnMut(ResourceSample) + Send + 'static,
    ) -> Result<Monitor, MonitorError> {
        Monitor::watch_with(group, None, interval, move |row| sink(row.clone()))
    }

    /// Does the same as `watch`, and also observes the workers. `sink` may complete a reading.
    ///
    /// # Errors
    /// As `watch`.
    pub fn watch_with(
        group: ProcessGroup,
        workers: Option<WorkerPattern>,
        interval: Nanos,
        sink: impl FnMut(&mut ResourceSample) + Send + 'static,
    ) -> Result<Monitor, MonitorError> {
        if interval < SHORTEST {
            return Err(MonitorError::NoInterval { interval });
        }
        let began = Instant::now();
        let reader = Reader::open(Sources::default(), &group, Nanos(0))?.with_workers(workers);
        let (end, ended) = sync_channel(1);
        let read = move || read_until(&ended, began, interval, reader, sink);
        let thread = GuardedThread::spawn("monitor".to_owned(), read, || ())
            .map_err(|source| MonitorError::NoThread { source })?;
        Ok(Monitor { end: Some(end), thread: Some(thread) })
    }

    /// Takes the last, shorter reading, and returns all readings. Call it while the stack still
    /// runs, because ended processes hold no memory.
    ///
    /// # Errors
    /// [`MonitorError::Panicked`] if the thread panicked.
    pub fn finish(mut self) -> Result<Vec<ResourceSample>, MonitorError> {
        self.end = None; // closes the channel, which wakes the thread at once
        let thread = self.thread.take().expect("only `finish` and `drop` take it");
        thread.join().map_err(|_| MonitorError::Panicked)
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        self.end = None;
        if let Some(thread) = self.thread.take() {
            // The thread printed its own panic. Nobody needs the readings any more.
            let _ = thread.join();
        }
    }
}

/// Why a stack cannot be watched.
#[derive(Debug, thiserror::Error, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MonitorError {
    /// The interval is too short. Such frequent readings would disturb what they measure.
    #[error("the monitor cannot read every {} ns, 10 ms at least", interval.0)]
    NoInterval {
        /// The requested interval.
        #[serde(rename = "interval_ns")]
        interval: Nanos,
    },
    /// A required file of a cgroup is missing.
    #[error("role `{role}` cannot be watched at `{path}`")]
    Unreadable {
        /// The role.
        role: String,
        /// The file.
        path: PathBuf,
        /// The system's error.
        #[serde(skip)]
        source: io::Error,
    },
    /// Another machine cannot be read.
    #[error("machine `{host}` cannot be read: {said}")]
    Elsewhere {
        /// The machine, as `ssh` takes it.
        host: String,
        /// The last line that `ssh` or the machine said.
        said: String,
    },
    /// The thread could not be started.
    #[error("the monitor's thread did not start")]
    NoThread {
        /// The system's error.
        #[serde(skip)]
        source: io::Error,
    },
    /// The thread panicked, which is a bug of ours.
    #[error("the monitor's thread panicked")]
    Panicked,
}

/// Runs in the monitor's thread. Takes a reading at every multiple of `interval` after `began`, and
/// one when the channel `ended` closes. Between readings it takes quick looks.
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
                reader.observe();
                continue;
            }
            Err(RecvTimeoutError::Timeout) => ReadingPosition::Middle,
            Ok(()) | Err(RecvTimeoutError::Disconnected) => ReadingPosition::Edge,
        };
        let mut row = reader.read(Nanos::from(began.elapsed()), own_cpu(), position);
        sink(&mut row);
        rows.push(row);
        if position == ReadingPosition::Edge {
            return rows;
        }
    }
}

/// Returns the first multiple of `interval` after `now`. Multiples do not drift. Readings that were
/// missed while the machine was busy are left out, not made up for.
fn next_reading(now: Nanos, interval: Nanos) -> Nanos {
    Nanos((now.0 / interval.0 + 1).saturating_mul(interval.0))
}

/// Returns the CPU time of the calling thread and of the whole process so far.
fn own_cpu() -> OwnSample {
    let ns = |clock| {
        let time = clock_gettime(clock);
        // CPU clocks start at zero with the thread or process, so they are never negative.
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    };
    OwnSample { monitor_cpu_ns: ns(ClockId::ThreadCPUTime), cpu_ns: ns(ClockId::ProcessCPUTime) }
}

/// Interval of the quick looks. A look at 64 workers and the sockets costs at most 0.3 ms.
const LOOK_EVERY: Nanos = Nanos::from_millis(200);
/// With a shorter interval the readings themselves would cost more than 1 % of a CPU.
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
