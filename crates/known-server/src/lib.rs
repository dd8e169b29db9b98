//! Servers with an exactly known behaviour, for tests and calibration.
//!
//! [`NullServer`] answers everything at once with the same bytes, so a load generator meets only
//! its own limit (`doctor --calibrate`). [`KnownServer`] is slow, frozen, torn, short or rude on
//! demand. It counts what it received, so that a test can expect numbers that follow from
//! arithmetic.
//!
//! Both listen on 127.0.0.1 with a port of the kernel's choice, or on a Unix socket. They end with
//! their threads when they are dropped.

mod answer;
mod behaviour;
mod gate;
mod journal;
mod known;
mod listen;
mod null;
mod request;
mod wire;

pub use answer::{Answer, ConnectionAction, Writing};
pub use behaviour::{Accept, Behaviour, ClockZero, Freeze, Reply, Workers};
pub use journal::Journal;
pub use known::KnownServer;
pub use listen::{Address, Listen, ServerError};
pub use null::{IdleMode, NullServer, NullServerOptions, RequestTimestamps};
