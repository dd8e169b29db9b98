//! Helpers for the tests of several crates.

pub mod allocator;
pub mod program;
pub mod schema_fits;
pub mod seccomp;
pub mod small_disk;
