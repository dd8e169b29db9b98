//! Servers with an exactly known behaviour, for tests and calibration.
//!
//! [`NullServer`] answers everything with the same bytes, so a load generator meets only its own
//! limit (`doctor --calibrate`). It can stamp each request, so that a bench can check what a
//! generator prints. [`KnownServer`] is slow, frozen, torn, short or rude on
//! demand. It counts what it received, so that a test can expect numbers that follow from
//! arithmetic.
//!
//! Both listen on 127.0.0.1 with a port of the kernel's choice, or on a Unix socket. They end with
//! their threads when they are dropped.

mod answer;
mod behaviour;
mod fastcgi;
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
pub use null::{NullServer, NullServerOptions, Protocol, RequestTimestamps};
