//! What is sent: requests as a list, or as a file of one of many formats.

mod access_log;
mod deal;
mod error;
mod format;
mod har;
mod input;
mod json;
mod json_lines;
mod read;
mod request;
mod sized;
mod supply;
mod tag;
#[cfg(test)]
mod tests;
mod uri;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::protocol::fastcgi::Script;
use crate::spec::{ConnectionHabit, Habits};

pub use error::TrafficError;
pub use format::Format;
pub(crate) use request::check;
pub use request::{AnswerShape, Header, Request};
pub use supply::read_all;
pub(crate) use supply::{Tagging, supply};
pub use tag::{NAME_BYTES_MAX, TAGS_MAX, Tag, Tags};

/// What a load sends, in which order, and how often.
#[derive(Clone, Debug)]
pub struct LoadTraffic {
    /// The requests.
    pub source: Source,
    /// Which is next.
    pub order: Order,
    /// How often all of them are sent.
    pub passes: Passes,
    /// Requests at most; the load is over then. `None`: no bound.
    pub limit: Option<u64>,
    /// The names of its tags. For a file it fills while the file is read.
    pub tags: Tags,
}

impl LoadTraffic {
    /// Requests that are there, in turn, again from the first after the last. `tags` is the
    /// table in which their tags were made.
    pub fn list(requests: impl Into<Arc<[Request]>>, tags: Tags) -> LoadTraffic {
        LoadTraffic { tags, ..LoadTraffic::from(Source::List(requests.into())) }
    }

    /// A file, in turn, again from its beginning after its end.
    pub fn file(file: TrafficFile) -> LoadTraffic {
        LoadTraffic::from(Source::File(file))
    }

    /// Whether each of its first [`LOOKED_AT`] requests ends its connection, which `habits` would
    /// keep: a connection a request then. Of a pipe, or of what cannot be read, nothing is known.
    pub fn ends_connections(&self, habits: Habits) -> bool {
        match &self.source {
            _ if habits.connection == ConnectionHabit::PerRequest => false,
            Source::List(list) => list.iter().take(LOOKED_AT).all(|request| request.closes),
            Source::File(file) => read::ends_connections(file, habits).unwrap_or(false),
        }
    }

    /// Whether the load is over before its schedule is, once all is sent.
    pub(crate) fn ends(&self) -> bool {
        self.passes != Passes::Endless || self.limit.is_some()
    }
}

impl From<Source> for LoadTraffic {
    fn from(source: Source) -> LoadTraffic {
        let (order, passes, limit) = (Order::InTurn, Passes::Endless, None);
        LoadTraffic { source, order, passes, limit, tags: Tags::new() }
    }
}

impl From<Arc<[Request]>> for LoadTraffic {
    fn from(requests: Arc<[Request]>) -> LoadTraffic {
        LoadTraffic::list(requests, Tags::new())
    }
}

impl From<Vec<Request>> for LoadTraffic {
    fn from(requests: Vec<Request>) -> LoadTraffic {
        LoadTraffic::list(requests, Tags::new())
    }
}

impl<const N: usize> From<[Request; N]> for LoadTraffic {
    fn from(requests: [Request; N]) -> LoadTraffic {
        LoadTraffic::list(requests, Tags::new())
    }
}

/// Where requests come from.
#[derive(Clone, Debug)]
pub enum Source {
    /// Memory. Never empty.
    List(Arc<[Request]>),
    /// A file.
    File(TrafficFile),
}

/// A file of requests.
#[derive(Clone, Debug)]
pub struct TrafficFile {
    /// Where it is. What is no regular file (a pipe) can be read once only.
    pub path: PathBuf,
    /// How it is written; `None`: as its beginning looks.
    pub format: Option<Format>,
    /// Headers of each request that has none of that name itself; not for
    /// [`Format::Request`], which is sent as it is.
    pub headers: Vec<Header>,
    /// Methods taken from an access log: it tells no bodies, so others than GET and HEAD
    /// would not be the request that it was.
    pub log_methods: Vec<String>,
    /// Set: requests are FastCGI's, for this script; whole requests, which are HTTP's, are
    /// then broken.
    pub script: Option<Script>,
}

impl TrafficFile {
    /// The file at `path`, whose format its beginning shows.
    pub fn new(path: impl Into<PathBuf>) -> TrafficFile {
        let log_methods = ["GET", "HEAD"].map(String::from).to_vec();
        TrafficFile {
            path: path.into(),
            format: None,
            headers: Vec::new(),
            log_methods,
            script: None,
        }
    }
}

/// Which request is next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// As they are written, over all load threads together: whichever sends next takes the next.
    InTurn,
    /// Shuffled, each pass anew, each request once a pass. Of more than fits into memory
    /// ([`TrafficNotes::shuffled_within`]) only those that are near each other change places.
    Random {
        /// Seed of the generator.
        seed: u64,
    },
}

/// How often all requests are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passes {
    /// For as long as the load lasts.
    Endless,
    /// This often, 1 or more; the load is over then.
    Times(u64),
}

/// What was read as traffic; all zero for a list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrafficNotes {
    /// How the file is written, by name.
    pub format: Option<String>,
    /// Requests read in the first pass.
    pub requests: u64,
    /// Entries of it that are well-formed and yet not to be sent, by reason.
    pub skipped: BTreeMap<String, u64>,
    /// Entries of it that are no request.
    pub broken: u64,
    /// The first of these: its line and what is wrong with it.
    pub broken_first: Option<String>,
    /// Why reading ended before the end: the load was over then.
    pub failed: Option<String>,
    /// A host that URLs of its beginning name, other than the target's: it is their `Host`, and
    /// they go to the target all the same.
    pub other_host: Option<String>,
    /// Of how many requests, about, a random one is taken; `None`: of all.
    pub shuffled_within: Option<u64>,
}

impl TrafficNotes {
    pub(crate) fn skip(&mut self, reason: &str) {
        let known = self.skipped.len() < REASONS_MAX || self.skipped.contains_key(reason);
        *self.skipped.entry(if known { reason } else { "other" }.to_owned()).or_default() += 1;
    }

    pub(crate) fn break_off(&mut self, broken: &input::Broken) {
        self.broken += 1;
        self.broken_first.get_or_insert_with(|| format!("line {}: {}", broken.line, broken.what));
    }
}

/// Reasons that are told apart: methods of an access log are, and they can be anything.
const REASONS_MAX: usize = 16;

/// Requests by which it is told whether connections are kept.
pub const LOOKED_AT: usize = 100;
