//! The loads whose printed times are compared with the server's stamps.

use crate::stamped::{Freezing, Serves, Wire};

/// A load and the server that it meets.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub name: &'static str,
    pub sends: Sends,
    pub serves: Serves,
}

/// How much is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sends {
    /// Closed model: [`REQUESTS`] by this many users.
    Users(u32),
    /// Open model: this many a second, in equal distances.
    PerSecond(u32),
}

const fn with(wire: Wire, body_bytes: usize, delay_ms: u64) -> Serves {
    Serves { wire, body_bytes, delay_ms, freezing: Freezing::Never }
}

const fn closed(name: &'static str, users: u32, serves: Serves) -> Case {
    Case { name, sends: Sends::Users(users), serves }
}

const fn open(name: &'static str, serves: Serves) -> Case {
    Case { name, sends: Sends::PerSecond(RATE), serves }
}

/// In the open model, the server's delay makes as many requests wait as the name says.
pub const CASES: [Case; 14] = [
    closed("closed, 1 at a time", 1, Serves::AT_ONCE),
    closed("closed, 10 at a time", 10, Serves::AT_ONCE),
    closed("closed, 1 000 at a time", 1_000, Serves::AT_ONCE),
    closed("closed, 10, 100 KB", 10, with(Wire::Http, 100_000, 0)),
    closed("closed, 10, TLS", 10, with(Wire::Tls, 2, 0)),
    closed("closed, 10, FastCGI", 10, with(Wire::FastCgi, 2, 0)),
    closed("closed, 10, Unix socket", 10, with(Wire::Unix, 2, 0)),
    open("open, 1 at a time", Serves::AT_ONCE),
    open("open, 10 at a time", with(Wire::Http, 2, 5)),
    open("open, 1 000 at a time", with(Wire::Http, 2, 500)),
    open("open, 100 KB", with(Wire::Http, 100_000, 0)),
    open("open, TLS", with(Wire::Tls, 2, 0)),
    open("open, FastCGI", with(Wire::FastCgi, 2, 0)),
    open("open, Unix socket", with(Wire::Unix, 2, 0)),
];

/// Requests of a closed load: a hundred lie beyond the highest percentile.
pub const REQUESTS: u32 = 100_000;
/// Requests per second of an open load.
const RATE: u32 = 2_000;
