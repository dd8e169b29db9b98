//! The same over io_uring.

#[path = "descriptors.rs"]
mod descriptors;
