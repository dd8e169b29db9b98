//! A flag that asks a running load to end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Asks a running load to end: no further request starts, and those in flight keep their timeout.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

/// A stop that this flag asks for.
impl From<Arc<AtomicBool>> for Stop {
    fn from(flag: Arc<AtomicBool>) -> Stop {
        Stop(flag)
    }
}

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
