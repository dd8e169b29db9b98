//! Servers that behave exactly as told.
//!
//! [`NullServer`] answers everything at once with the same bytes: beside it a load
//! generator meets only its own ceiling (`doctor --calibrate`). [`KnownServer`] is slow,
//! frozen, torn, short or rude to order, and counts what it saw, so that a test can expect
//! numbers that follow from arithmetic.
//!
//! Both listen on 127.0.0.1 with a port of the kernel's choice, or on a unix socket, and
//! end with their threads when they are dropped.

mod answer;
mod behaviour;
mod gate;
mod journal;
mod known;
mod listen;
mod null;
mod request;
mod wire;

pub use answer::{Answer, Then, Writing};
pub use behaviour::{Accept, Behaviour, Freeze, Reply, Workers, Zero};
pub use journal::Journal;
pub use known::KnownServer;
pub use listen::{Address, Listen, ServerError};
pub use null::{Manner, NullServer, Stamp, Waiting};
