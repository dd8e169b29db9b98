//! What people met who came from outside, each with a real server or app, the binary, and what it says.
//! One module a fault; none of them knows how the program is built.

#[path = "../common/mod.rs"]
mod common;

mod early;
mod ended;
mod mix;
mod odd_headers;
mod talk;
mod unanswered;
