//! `stampede check` tests whether an app is safe in a worker that keeps it in memory.
//!
//! ```text
//! requests → passes → answers of the reference and of each worker runtime → findings → verdict
//!              └────→ records of the workers' watch ────────────────────────┘
//! ```
//! The reference (PHP-FPM by default) forgets everything after each request. So any difference from
//! it, except for nondeterministic content, comes from the worker's memory.

pub mod amount;
pub mod analyze;
pub mod baseline;
pub mod collateral;
pub mod detectors;
pub mod gather;
pub mod grow;
pub mod growth;
pub mod harness;
pub mod headers;
pub mod html;
pub mod investigation;
pub mod kinds;
pub mod model;
pub mod natural;
pub mod nondeterminism;
pub mod orders;
pub mod places;
pub mod replay;
pub mod requests;
#[cfg(any(test, feature = "sample"))]
pub mod sample;
pub mod sapi;
pub mod sessions;
pub mod signs;
pub mod spill_file;
pub mod subject;
pub mod text;
pub mod users;
pub mod watch;
pub mod work;
