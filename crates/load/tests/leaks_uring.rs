//! Runs the tests of `leaks.rs` over io_uring.

#[path = "leaks.rs"]
mod leaks;
