//! The same over io_uring.

#[path = "leaks.rs"]
mod leaks;
