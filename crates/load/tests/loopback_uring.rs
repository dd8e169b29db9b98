//! The same over io_uring.

#[path = "loopback.rs"]
mod loopback;
