//! The load generator: a schedule says when, traffic says what, a protocol says how it
//! looks on the wire, an engine moves the bytes, a recorder counts.
//!
//! Knows no PHP and no runtime. The five parts multiply without a line of code for a
//! pair: a protocol is a sans-I/O machine, an engine is completion-shaped, a schedule
//! is a list of due times.

pub mod autostop;
pub mod check;
pub mod client;
mod collector;
mod driver;
pub mod engine;
pub mod example;
mod index_list;
pub mod open_files;
pub mod outcome;
pub mod protocol;
mod recorder;
pub mod report;
mod run;
mod sched;
pub mod schedule;
pub mod spec;
pub mod time;
pub mod traffic;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub use report::{Listener, LoadResult};
pub use run::{LoadError, run_load};
pub use spec::Load;

/// Asks a running load to end: no further request starts, started ones keep their timeout.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Asks; may be called from a signal handler's thread, more than once.
    pub fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it was asked for.
    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
