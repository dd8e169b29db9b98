//! A flag that asks a running load to end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Asks a running load to end: no further request starts, and those in flight keep their timeout.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Asks the load to stop. May be called more than once, also from a signal handler's thread.
    pub fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether a stop was asked for.
    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
