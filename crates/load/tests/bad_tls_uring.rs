//! Runs the tests of `bad_tls.rs` over io_uring.

#[path = "bad_tls.rs"]
mod bad_tls;
