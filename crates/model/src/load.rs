//! Describes a load as data: where it goes, its model, and the habits of its client.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::schedule::Segments;
use crate::time::Nanos;

/// Where a runtime listens: a TCP address or a Unix socket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Address {
    /// IPv4 or IPv6.
    Tcp(SocketAddr),
    /// Path of a Unix socket in the file system.
    Unix(PathBuf),
}

/// `127.0.0.1:8080`, or the path of the socket.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp(address) => address.fmt(f),
            Address::Unix(path) => path.display().fmt(f),
        }
    }
}

/// Where the connections of a load go: to one address, or to several in turn. The connections of
/// each load thread are dealt in this order, and thread *n* begins with the *n*-th address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Address>", into = "Vec<Address>")]
pub struct Addresses {
    first: Address,
    others: Vec<Address>,
}

/// A list of addresses is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no address")]
pub struct NoAddress;

impl Addresses {
    /// The first address.
    pub fn first(&self) -> &Address {
        &self.first
    }

    /// All addresses, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Address> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// The same addresses in the order in which load thread number `thread` deals them.
    #[must_use]
    pub fn for_thread(self, thread: usize) -> Addresses {
        let mut all = Vec::from(self);
        let by = thread % all.len();
        all.rotate_left(by);
        Addresses { first: all.remove(0), others: all }
    }
}

impl From<Address> for Addresses {
    fn from(first: Address) -> Addresses {
        Addresses { first, others: Vec::new() }
    }
}

impl TryFrom<Vec<Address>> for Addresses {
    type Error = NoAddress;

    fn try_from(mut all: Vec<Address>) -> Result<Addresses, NoAddress> {
        if all.is_empty() {
            return Err(NoAddress);
        }
        Ok(Addresses { first: all.remove(0), others: all })
    }
}

impl From<Addresses> for Vec<Address> {
    fn from(addresses: Addresses) -> Vec<Address> {
        std::iter::once(addresses.first).chain(addresses.others).collect()
    }
}

/// `127.0.0.2:80, 127.0.0.3:80 (in turn)`.
impl fmt::Display for Addresses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Vec<String> = self.iter().map(ToString::to_string).collect();
        in_turn(&all).fmt(f)
    }
}

/// Joins the addresses of a load for people.
pub fn in_turn(addresses: &[String]) -> String {
    let how = if addresses.len() > 1 { " (in turn)" } else { "" };
    format!("{}{how}", addresses.join(", "))
}

/// What makes the next request due.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Model {
    /// Open model: requests are due whether or not earlier ones were answered.
    Open {
        /// Target rate over time.
        schedule: Segments,
        /// Uniform or Poisson arrivals.
        arrivals: Arrivals,
        /// Most requests in flight at once, over all load threads; 1 or more.
        max_in_flight: u32,
        /// What happens to a request that is due while `max_in_flight` are in flight.
        when_full: WhenFull,
    },
    /// Closed model: each user sends its next request after its last answer.
    Closed {
        /// Number of users, which is the number of requests at once; 1 or more.
        concurrency: u32,
        /// When the load ends.
        until: Until,
    },
}

/// How due times are spread around the target rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// Even gaps, as in Yandex Tank.
    Uniform,
    /// Independent exponential gaps. The expected number of requests is the schedule's.
    Poisson {
        /// Seed of the random number generator.
        seed: u64,
    },
}

/// What happens to a due request while `max_in_flight` requests are in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WhenFull {
    /// It waits, and the wait is part of its response time. It is dropped one timeout after the
    /// last due time of the schedule.
    Queue,
    /// It is dropped and counted.
    Drop,
    /// The schedule stretches, as in phantom: this request and all later ones become due later. The
    /// results contain the factor.
    Stretch,
}

/// When a closed load ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Until {
    /// After this time no request starts.
    #[serde(rename = "for_ns")]
    For(Nanos),
    /// After this many requests, over all users.
    Requests(u64),
}

/// How a client treats its connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Habits {
    /// HTTP version in the request line; the traffic is built with it.
    pub version: HttpVersion,
    /// Whether a connection is kept or closed after each answer.
    pub connection: ConnectionHabit,
}

/// HTTP versions that the generator speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum HttpVersion {
    /// HTTP/1.0: a connection is kept only where both sides say `Connection: keep-alive`.
    #[serde(rename = "1.0")]
    Http10,
    /// HTTP/1.1.
    #[serde(rename = "1.1")]
    Http11,
}

impl HttpVersion {
    /// Both versions.
    pub const ALL: [HttpVersion; 2] = [HttpVersion::Http10, HttpVersion::Http11];

    /// `1.0` or `1.1`.
    pub const fn name(self) -> &'static str {
        match self {
            HttpVersion::Http10 => "1.0",
            HttpVersion::Http11 => "1.1",
        }
    }

    /// The version with that name; `None` for any other name.
    pub fn named(name: &str) -> Option<HttpVersion> {
        HttpVersion::ALL.into_iter().find(|version| version.name() == name)
    }
}

/// What a client does with a connection after an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConnectionHabit {
    /// Sends the next request on the same connection, if the server allows it.
    KeepAlive,
    /// Closes the connection: one connection per request.
    PerRequest,
}
