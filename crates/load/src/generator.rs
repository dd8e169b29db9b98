//! What sends a load: threads of this process, or something else that reports the same.

use stampede_model::stop::Stop;

use crate::report::{Listener, LoadResult};
use crate::run::{self, LoadError};
use crate::spec::Load;

/// Sends loads.
pub trait Generator: Sync {
    /// Makes ready what takes time and does not depend on a load: connections to other machines. Not
    /// necessary before [`Generator::run`]; but what does not work is found early.
    ///
    /// # Errors
    /// As [`Generator::run`].
    fn prepare(&self, _stop: &Stop) -> Result<(), LoadError> {
        Ok(())
    }

    /// Runs a load, after its warm-up on the same connections, and returns its results. Blocks until
    /// its last request has ended. That takes as long as the schedule, plus one timeout for waiting
    /// requests, plus one for requests in flight. `stop` ends it earlier. `listener` is called from
    /// this thread: once before the load, then once a second.
    ///
    /// # Errors
    /// Nothing was sent, or a thread panicked: [`LoadError`] says why. After a panic `stop` is asked
    /// for, so that nothing further is sent.
    fn run(
        &self,
        load: &Load,
        stop: &Stop,
        listener: &mut dyn Listener,
    ) -> Result<LoadResult, LoadError>;
}

/// Sends from threads of this process.
///
/// Runs one pinned load thread per CPU of `load.cpus`, or `load.threads` unpinned ones. Due times,
/// `max_in_flight`, users and requests are divided among them evenly. Fewer threads run where there
/// is less to divide.
///
/// Raises the soft limit of open files if it is too low for the connections
/// ([`open_files`](crate::open_files)). Processes that are started later inherit it.
///
/// Each load thread has its share of `max_in_flight` alone: a request may wait for a connection while
/// another thread has one to spare.
#[derive(Clone, Copy, Debug, Default)]
pub struct InProcess;

impl Generator for InProcess {
    fn run(
        &self,
        load: &Load,
        stop: &Stop,
        listener: &mut dyn Listener,
    ) -> Result<LoadResult, LoadError> {
        run::run_load(load, stop, listener)
    }
}
