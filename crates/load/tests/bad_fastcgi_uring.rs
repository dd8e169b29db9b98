//! Runs the tests of `bad_fastcgi.rs` over io_uring.

#[path = "bad_fastcgi.rs"]
mod bad_fastcgi;
