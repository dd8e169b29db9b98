//! Facts that are found before the first request of `fire`.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::address::ChosenAddress;
use crate::words;

/// Something that the user should know before a load starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum Before {
    /// There may be more connections than the limit of open files allows.
    FewFiles {
        /// The most connections that there may be.
        connections: u64,
        /// The open files that they need.
        needed: u64,
        /// The hard limit of open files.
        limit: u64,
    },
    /// There may be more connections than local ports.
    FewPorts {
        /// The most connections that there may be.
        connections: u64,
        /// Number of local ports.
        ports: u64,
    },
    /// One connection per request may use up the local ports.
    FewPortsOverTime {
        /// Connections per minute. Null: as many as are answered.
        connections_per_minute: Option<u64>,
        /// Number of local ports.
        ports: u64,
    },
    /// The host name has several addresses.
    Addresses(ChosenAddress),
    /// A key of a `load.yaml` is skipped.
    KeyPassedOver {
        /// The key with its section: `phantom.threads`.
        key: String,
        /// Line of the key, counted from 1.
        line: usize,
        /// What happens instead, in English.
        instead: String,
    },
    /// A part of another tool's script is not taken over.
    LeftOutOfScript {
        /// What it is, in English.
        what: String,
        /// Its lines, counted from 1.
        lines: Vec<usize>,
        /// What happens instead, in English.
        instead: String,
    },
    /// No flag says how much to send, so a default is sent.
    DefaultLoad {
        /// The load as flags: `--concurrency 10 --for 10s`.
        flags: String,
    },
    /// The path of the URL is not requested: the request file has its own paths.
    PathUnused {
        /// The path of the URL.
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
                    None => String::new(),
                    Some(most) => format!(" (up to {} in a minute)", words::count(*most)),
                };
                write!(
                    f,
                    "without keep-alive this load opens a connection for each request{many} and may use up the {} \
                     local ports of this machine; requests then fail as `net:no-port`. Use keep-alive, or \
                     {WIDEN}",
                    words::count(*ports)
                )
            }
            Before::Addresses(taken) => taken.fmt(f),
            Before::KeyPassedOver { key, line, instead } => {
                write!(f, "`{key}` in line {line} is ignored: {instead}")
            }
            Before::LeftOutOfScript { what, lines, instead } => {
                let place = if lines.len() == 1 { "line" } else { "lines" };
                let lines: Vec<String> = lines.iter().map(usize::to_string).collect();
                let lines = lines.join(", ");
                write!(f, "{what} in {place} {lines} is not taken over: {instead}")
            }
            Before::DefaultLoad { flags } => write!(f, "default load: `{flags}`"),
            Before::PathUnused { path } => {
                write!(
                    f,
                    "the path `{path}` of the URL is ignored: the requests have their own paths"
                )
            }
        }
    }
}

/// How a user can get more local ports.
pub const WIDEN: &str = "`sysctl net.ipv4.ip_local_port_range=\"1024 65535\"` for more ports";
