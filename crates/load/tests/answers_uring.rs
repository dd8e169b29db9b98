//! Runs the tests of `answers.rs` over io_uring.

#[path = "answers.rs"]
mod answers;
