//! How agents are started.

pub mod kubernetes;
mod link;
mod ssh;

use std::path::PathBuf;

pub(crate) use link::ENDING_MAX;
pub use link::{Arrival, Incoming, Link, LinkError};
pub use ssh::Program;

/// How agents are started.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The program of this stampede, which local agents run and other machines get.
    pub program: PathBuf,
    /// A program of stampede that lies on the agents; nothing is copied then.
    pub remote: Option<PathBuf>,
    /// Arguments of `stampede agent`.
    pub arguments: Vec<String>,
}
