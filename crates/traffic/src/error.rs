//! Why traffic cannot be used, and what to do about it.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use serde::Serialize;

use stampede_model::entry::{EntryError, RequestError, Skip};

/// Why traffic cannot be made into requests.
#[derive(Clone, Debug, thiserror::Error, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TrafficError {
    /// The file does not exist, or cannot be read.
    #[error("cannot read request file `{}`", path.display())]
    Unreadable {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        #[serde(skip)]
        source: Arc<io::Error>,
    },
    /// The file is compressed in a way that is not read.
    #[error("request file `{}` is compressed with {by}", path.display())]
    Compressed {
        /// Path of the file.
        path: PathBuf,
        /// Name of the program that did it.
        by: &'static str,
    },
    /// The file's beginning matches no format.
    #[error("request file `{}` begins with `{begins}`, as no known format does", path.display())]
    UnknownFormat {
        /// Path of the file.
        path: PathBuf,
        /// First line of the file, shortened.
        begins: String,
    },
    /// A line near the beginning is no valid request.
    #[error("line {line} of request file `{}`: {what}", path.display())]
    Broken {
        /// Path of the file.
        path: PathBuf,
        /// Number of the line; the first one is 1.
        line: u64,
        /// What is wrong.
        what: EntryError,
        /// What was expected.
        #[serde(skip)]
        hint: &'static str,
    },
    /// The file contains no request.
    #[error("request file `{}` has no request in it{}", path.display(), left_out(skipped))]
    Empty {
        /// Path of the file.
        path: PathBuf,
        /// What was skipped, and how often.
        skipped: Vec<(Skip, u64)>,
    },
    /// Most requests of a recording go to other hosts than the one that is sent to.
    #[error("request file `{}` has {requests} requests to `{host}`, and more to other hosts: {}", path.display(), counted(others))]
    MostlyOtherHosts {
        /// Path of the file.
        path: PathBuf,
        /// Host of most requests.
        host: String,
        /// Number of requests to it.
        requests: u64,
        /// The other hosts, most requests first.
        others: Vec<(String, u64)>,
    },
    /// The file with values of variables is something else.
    #[error("environment file `{}` has no values of variables", path.display())]
    Environment {
        /// Path of the file.
        path: PathBuf,
        /// What the reader of JSON says.
        #[serde(skip)]
        source: Arc<serde_json::Error>,
    },
    /// A pipe that should be read again, and does not fit into memory.
    #[error("request file `{}` is not a regular file and can be read only once", .0.display())]
    OnlyOnce(PathBuf),
    /// The load was stopped while it waited for a pipe.
    #[error("request file `{}` had no request yet when the load was told to stop", .0.display())]
    Stopped(PathBuf),
    /// The thread that reads the file could not be started.
    #[error("the thread that reads traffic cannot be started")]
    Thread(
        #[serde(skip)]
        #[source]
        Arc<io::Error>,
    ),
    /// The parts make no valid request.
    #[error(transparent)]
    #[serde(untagged)]
    Request(#[from] RequestError),
}

impl TrafficError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            TrafficError::Request(error) => error.hint(),
            TrafficError::Unreadable { source, .. } => match source.kind() {
                io::ErrorKind::IsADirectory => "name a file in that directory",
                io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => {
                    "check that the file is there and may be read"
                }
                // What unpacking says of bytes that are not what was packed.
                io::ErrorKind::UnexpectedEof
                | io::ErrorKind::InvalidData
                | io::ErrorKind::InvalidInput
                | io::ErrorKind::Other => {
                    "the file is cut off or damaged: copy it again, or unpack what is left of it first"
                }
                _ => "check the disk, or copy the file to another one",
            },
            TrafficError::Compressed { .. } => {
                "unpack it first; gzip and zstd are read as they are"
            }
            TrafficError::UnknownFormat { begins, .. } if is_of_tank(begins) => {
                "it looks like a configuration of Yandex Tank or of pandora: `stampede fire --tank FILE` reads it"
            }
            TrafficError::UnknownFormat { .. } => {
                "name its format, such as uri, urls, request, access.log, har, jsonl, curl or http; of a log whose lines it does not know: --log-format"
            }
            TrafficError::Broken { hint, .. } => hint,
            TrafficError::Empty { .. } => "name a file that has at least one request",
            TrafficError::MostlyOtherHosts { .. } => {
                "name the host that is meant, also where it is this one: -H 'Host: shop.example'"
            }
            TrafficError::Environment { .. } => {
                "it is an environment that Postman exports, or an object `{\"name\": \"value\"}`"
            }
            TrafficError::OnlyOnce(_) => "send it once, or write it to a file first",
            TrafficError::Stopped(_) => "start the program that writes to the pipe",
            TrafficError::Thread(_) => "the system has no thread left: see ulimit -u",
        }
    }
}

/// Whether a file with this first line is a configuration, and not a list of requests.
fn is_of_tank(begins: &str) -> bool {
    let name = begins.trim_end_matches('…').trim();
    let known = ["phantom", "pandora", "yandextank", "pools", "telegraf", "overload", "uploader"];
    known.iter().any(|known| name == format!("{known}:") || name == format!("[{known}]"))
}

/// The text of hosts with their requests, such as `a.example` 5, `b.example` 2.
fn counted(hosts: &[(String, u64)]) -> String {
    let most = hosts.iter().take(HOSTS_SHOWN).map(|(host, count)| format!("{count} × `{host}`"));
    let more = hosts.len().saturating_sub(HOSTS_SHOWN);
    let more = (more > 0).then(|| format!("{more} more hosts"));
    most.chain(more).collect::<Vec<_>>().join(", ")
}

/// Hosts that are named in a message. What matters is among the first ones.
const HOSTS_SHOWN: usize = 5;

/// The text of what was skipped, such as ` (skipped: 2 × no path)`.
fn left_out(skipped: &[(Skip, u64)]) -> String {
    let each = skipped.iter().map(|(why, count)| format!("{count} × {why}"));
    match skipped.is_empty() {
        true => String::new(),
        false => format!(" (skipped: {})", each.collect::<Vec<_>>().join(", ")),
    }
}
