//! The same over io_uring.

#[path = "bad_fastcgi.rs"]
mod bad_fastcgi;
