//! What was found out before the first request of `fire`.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::addresses::Taken;
use crate::summary::words;

/// What the person should know before a load starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum Before {
    /// More connections than the limit of open files allows.
    FewFiles {
        /// How many there may be.
        connections: u64,
        /// Open files that they need.
        needed: u64,
        /// The hard limit.
        limit: u64,
    },
    /// More connections than there are local ports.
    FewPorts {
        /// How many there may be.
        connections: u64,
        /// Local ports.
        ports: u64,
    },
    /// A connection per request may hold more local ports than there are.
    FewPortsOverTime {
        /// Connections in a minute; null: as many as are answered.
        connections_per_minute: Option<u64>,
        /// Local ports.
        ports: u64,
    },
    /// The host has several addresses.
    Addresses(Taken),
    /// A key of a `load.yaml` is passed over.
    KeyPassedOver {
        /// With its section: `phantom.threads`.
        key: String,
        /// Where, 1 for the first.
        line: usize,
        /// What is so instead, in English.
        instead: String,
    },
    /// The path of the URL is not asked for: the request file has its own.
    PathUnused {
        /// The path.
        path: String,
    },
}

impl fmt::Display for Before {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Before::FewFiles { connections, needed, limit } => {
                let [connections, needed, limit] =
                    [connections, needed, limit].map(|n| words::count(*n));
                write!(
                    f,
                    "{connections} connections need {needed} open files, and the hard limit is {limit}: requests beyond \
                     that fail as `net:no-file`"
                )
            }
            Before::FewPorts { connections, ports } => write!(
                f,
                "{} connections need as many local ports, and this machine has {}: requests beyond that fail as \
                 `net:no-port`",
                words::count(*connections),
                words::count(*ports)
            ),
            Before::FewPortsOverTime { connections_per_minute, ports } => {
                let many = match connections_per_minute {
                    None => "as many as are answered".to_owned(),
                    Some(most) => format!("up to {} in a minute", words::count(*most)),
                };
                write!(
                    f,
                    "a connection per request, {many}, and this machine has {} local ports: where a closed connection \
                     holds its port for a minute, requests fail as `net:no-port` ({WIDEN})",
                    words::count(*ports)
                )
            }
            Before::Addresses(taken) => taken.fmt(f),
            Before::KeyPassedOver { key, line, instead } => {
                write!(f, "`{key}` in line {line} is passed over: {instead}")
            }
            Before::PathUnused { path } => {
                write!(f, "`{path}` of the URL is not sent: the traffic has its paths")
            }
        }
    }
}

/// How to have more local ports.
pub const WIDEN: &str = "`sysctl net.ipv4.ip_local_port_range=\"1024 65535\"` gives most";
