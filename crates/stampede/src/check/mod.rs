//! `stampede check`: is an app safe in a worker that keeps it in memory?
//!
//! ```text
//! requests → tours → answers of the reference and of each worker runtime → findings → verdict
//!              └────→ what the workers' watch wrote ────────────────────────┘
//! ```
//! The reference is PHP-FPM, which forgets everything after each request: whatever differs from it, once
//! what moves by nature is known, is a worker's memory.

pub mod model;

pub use model::CheckReport;
