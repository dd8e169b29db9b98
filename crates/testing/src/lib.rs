//! Helpers for the tests of several crates.

pub mod schema_fits;
pub mod seccomp;
