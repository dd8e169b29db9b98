//! Sends one load from several machines.
//!
//! A coordinator gives each agent its part of one schedule, starts all of them at one moment, and
//! adds up what they report each second. An agent is a far-away load thread: it runs the same
//! generator, and every time of a request lies on its own clock, so that clocks that differ never
//! enter a response time.
//!
//! What is said ([`message`]) does not depend on what carries it, and both sides ([`agent`],
//! [`coordinator`]) are state machines without I/O, which tests run in simulated time.

pub mod agent;
mod causes;
pub mod clock;
pub mod coordinator;
mod fleet;
pub mod frame;
mod hash;
pub mod launch;
pub mod meet;
pub mod message;

pub use fleet::{Fleet, FleetError, reached_by};
