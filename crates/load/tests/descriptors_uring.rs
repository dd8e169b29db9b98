//! Runs the tests of `descriptors.rs` over io_uring.

#[path = "descriptors.rs"]
mod descriptors;
