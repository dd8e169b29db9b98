//! What is to be sent: one value, valid as it stands.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use crate::check::{Check, Rule};
use crate::protocol::tls;
use crate::schedule::Segments;
use crate::time::Nanos;
use crate::traffic::LoadTraffic;

/// One load, complete: where, what, when, with which habits.
#[derive(Clone, Debug)]
pub struct Load {
    /// Where the requests go.
    pub target: Address,
    /// What is spoken there.
    pub wire: Wire,
    /// Open or closed.
    pub model: Model,
    /// How connections are used.
    pub habits: Habits,
    /// From *started* to done, connecting included; what takes longer is `net: timeout`.
    pub timeout: Nanos,
    /// What is sent: a list in turn, again from the first after the last, or a file.
    pub traffic: LoadTraffic,
    /// What a correct answer looks like.
    pub check: Check,
    /// What moves the bytes.
    pub engine: EngineChoice,
    /// CPUs that the load threads are pinned to, one thread a CPU; empty: one thread,
    /// where the kernel likes.
    pub cpus: Vec<usize>,
    /// Who else runs on these.
    pub company: Company,
    /// Load threads where no CPUs are given, 1 or more; the kernel places them.
    pub threads: u32,
    /// Whether the listener is given a record of every request.
    pub records: bool,
}

impl Load {
    /// A load of these three with what an ordinary client does: HTTP/1.1 on kept connections, 11 s
    /// of timeout, every status from 200 to 299 correct, one thread where the kernel likes.
    pub fn new(target: Address, model: Model, traffic: impl Into<LoadTraffic>) -> Load {
        let (version, connection) = (HttpVersion::Http11, ConnectionHabit::KeepAlive);
        Load {
            target,
            wire: Wire::Http1,
            model,
            habits: Habits { version, connection },
            timeout: TIMEOUT,
            traffic: traffic.into(),
            check: Check::default(),
            engine: EngineChoice::Auto,
            cpus: Vec::new(),
            company: Company::Server,
            threads: 1,
            records: false,
        }
    }
}

/// Who runs on the CPUs of load threads beside them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Company {
    /// Nobody who matters: a thread may be awake for as long as it likes.
    Nobody,
    /// The server, perhaps: what a thread spends awake, that one may lack.
    Server,
}

/// Where a runtime listens. A unix socket is an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// IPv4 or IPv6.
    Tcp(SocketAddr),
    /// A path in the file system.
    Unix(PathBuf),
}

/// What is spoken on a connection.
#[derive(Clone, Debug)]
pub enum Wire {
    /// HTTP/1.0 or 1.1, as the habits say.
    Http1,
    /// FastCGI, with the traffic of [`crate::protocol::fastcgi::request`].
    FastCgi,
    /// HTTP inside TLS.
    Tls(tls::Setup),
}

/// Which engine moves the bytes. A result says which did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineChoice {
    /// The cheaper one: io_uring for users of the closed model who keep their connections, from
    /// 8 a thread on, without TLS and where it is allowed; else epoll.
    #[default]
    Auto,
    /// epoll: everywhere.
    Epoll,
    /// io_uring: Linux 6.1 and later, where it is not forbidden.
    IoUring,
}

/// Who decides when the next request is due.
#[derive(Clone, Debug, PartialEq)]
pub enum Model {
    /// Requests are due whether or not earlier ones were answered.
    Open {
        /// Offered rate over time.
        schedule: Segments,
        /// Uniform, or Poisson with its seed.
        arrivals: Arrivals,
        /// Requests under way at once, 1 or more, over all load threads.
        max_in_flight: u32,
        /// What becomes of a request that is due while `max_in_flight` are under way.
        when_full: WhenFull,
    },
    /// Each user sends the next request after its answer.
    Closed {
        /// Loops, 1 or more.
        concurrency: u32,
        /// When it ends.
        until: Until,
    },
}

/// How due times spread around the offered rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrivals {
    /// Evenly, as Yandex Tank.
    Uniform,
    /// Independent gaps (exponential), from this seed; the expected count is the schedule's.
    Poisson {
        /// Seed of the generator.
        seed: u64,
    },
}

/// A due request that finds `max_in_flight` under way …
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WhenFull {
    /// … waits; the wait is part of its response time. At most one timeout after the last
    /// due time, then it is dropped.
    Queue,
    /// … is dropped and counted.
    Drop,
    /// … stretches the schedule, as phantom does: it and all later ones are due later.
    /// The factor is in the results.
    Stretch,
}

/// The end of a closed load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// No request starts after this long.
    For(Nanos),
    /// This many requests in all.
    Requests(u64),
}

/// How a client treats its connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Habits {
    /// Version in the request line; the traffic is built with it.
    pub version: HttpVersion,
    /// Kept or closed after each answer.
    pub connection: ConnectionHabit,
}

/// HTTP's versions that we speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum HttpVersion {
    /// HTTP/1.0: kept only where both sides say `Connection: keep-alive`.
    #[serde(rename = "1.0")]
    Http10,
    /// HTTP/1.1.
    #[serde(rename = "1.1")]
    Http11,
}

impl HttpVersion {
    /// Both.
    pub const ALL: [HttpVersion; 2] = [HttpVersion::Http10, HttpVersion::Http11];

    /// `1.0` or `1.1`.
    pub const fn name(self) -> &'static str {
        match self {
            HttpVersion::Http10 => "1.0",
            HttpVersion::Http11 => "1.1",
        }
    }

    /// By that name.
    pub fn named(name: &str) -> Option<HttpVersion> {
        HttpVersion::ALL.into_iter().find(|version| version.name() == name)
    }
}

/// What a client does with a connection after an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConnectionHabit {
    /// Sends the next request on it, if the server lets it.
    KeepAlive,
    /// Closes it: one connection a request.
    PerRequest,
}

/// Yandex Tank's default.
const TIMEOUT: Nanos = Nanos::from_secs(11);
