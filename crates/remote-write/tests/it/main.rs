//! Integration tests of remote write: against a server that does what a test says, against a real
//! Prometheus, and of what the documentation promises.

mod dashboard;
mod failures;
mod prometheus;
#[path = "../../src/read_back.rs"]
mod read_back;
mod scripted;
mod tls;
mod trial;
