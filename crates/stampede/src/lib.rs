//! stampede answers one question: which PHP runtime, with which settings, should serve your app,
//! and how sure are we?
//!
//! ```text
//! plan.yaml → plan → runtime → load → store → summary → report
//! ```
//! Modules to the right of `store` start no process and open no socket to a runtime.

pub mod addresses;
pub mod against;
pub mod capacity;
pub mod causes;
pub mod check;
pub mod cli;
pub mod external;
pub mod history;
pub mod observed;
pub mod own_words;
pub mod plan;
pub mod progress;
pub mod reach;
pub mod report;
pub mod runtime;
#[cfg(test)]
mod schema_fits;
pub mod serve;
pub mod stop;
pub mod store;
pub mod suggest;
pub mod summary;
pub mod target;
pub mod trial;
pub mod tune;
