//! The load generator: sends HTTP or FastCGI requests to one address, or to several in turn, and
//! measures the answers.
//!
//! It has five parts. A schedule says when each request is sent, and traffic (a crate of its own) says
//! what is sent. A protocol encodes requests and decodes answers, an engine moves the bytes, and a recorder counts.
//!
//! The crate knows nothing of PHP or of runtimes. The parts combine freely, without code for any
//! pair: a protocol is a sans-I/O state machine, an engine reports completions, and a schedule is a
//! list of scheduled times.

pub mod check;
pub mod client;
mod collector;
mod driver;
pub mod engine;
pub mod example;
mod generator;
mod index_list;
mod merge;
pub mod open_files;
pub mod outcome;
pub mod protocol;
mod recorder;
pub mod report;
mod run;
mod sched;
pub mod spec;

pub use generator::{Generator, InProcess};
pub use report::{Listener, LoadResult};
pub use run::{ElsewhereError, LoadError};
pub use spec::Load;
