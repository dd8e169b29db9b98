//! Runs the tests of `loopback.rs` over io_uring.

#[path = "loopback.rs"]
mod loopback;
