//! The same over io_uring.

#[path = "answers.rs"]
mod answers;
