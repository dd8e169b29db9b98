//! The same over io_uring.

#[path = "bad_tls.rs"]
mod bad_tls;
