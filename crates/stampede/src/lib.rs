//! stampede answers one question: which PHP runtime, with which settings, should serve your app,
//! and how sure are we?
//!
//! ```text
//! plan.yaml → plan → runtime → load → store → summary → report
//! ```
//! Modules to the right of `store` start no process and open no socket to a runtime.

pub mod capacity;
pub mod cli;
pub mod own_words;
pub mod progress;
pub mod suggest;
pub mod tune;
