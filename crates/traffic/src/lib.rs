//! What is sent: requests as a list in memory, or as a file in one of several formats.

mod access_log;
pub mod answer;
pub mod base64_bytes;
mod body_file;
mod compressed;
mod curl;
mod deal;
mod detect;
mod document;
mod editor;
mod error;
pub mod feed;
pub mod fields;
mod form;
mod format;
mod har;
mod input;
mod json;
mod json_lines;
pub mod line;
mod loose;
mod openapi;
pub mod overview;
mod postman;
mod read;
mod recorded;
pub mod recorded_rate;
pub mod request;
pub mod script;
mod shape;
mod shuffle;
mod siege;
mod sitemap;
mod sized;
mod skipped;
pub mod stream;
mod supply;
pub mod tag;
#[cfg(test)]
mod tests;
mod uri;
mod url;
mod utf16;
mod variables;
mod vegeta;
pub mod write;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use stampede_model::entry::{EntryError, ReadFailure, Skip};
use stampede_model::load::{ConnectionHabit, Habits};

pub use crate::access_log::{
    LogFormat, LogFormatError, LogFormatMistake, LogSelection, LoggedAnswers, LoggedHost,
};
pub use crate::answer::AnswerShape;
pub use crate::request::{Form, Header, Parts, PlainRequest, Request};
use crate::script::Script;
pub use crate::tag::{NAME_BYTES_MAX, TAGS_MAX, Tag, Tags, TagsError};

pub use body_file::named_files;
pub use error::TrafficError;
pub use format::Format;
pub use read::is_plain_list;
pub use supply::{Tagging, supply};
pub use supply::{read_all, read_tagged};
pub use uri::bracketed_headers;
pub use url::is_same_site;

/// Which requests a load sends, in which order, and how often.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadTraffic {
    /// The requests.
    pub source: Source,
    /// Order in which they are sent.
    pub order: Order,
    /// How often all of them are sent.
    pub passes: Passes,
    /// Most requests to send; the load is over then. `None`: no bound.
    pub limit: Option<u64>,
    /// Names of the tags. For a file, the table fills while the file is read.
    pub tags: Tags,
}

impl LoadTraffic {
    /// Requests in memory, sent in turn and repeated from the start. `tags` is the table in which
    /// their tags were created.
    pub fn list(requests: impl Into<Arc<[Request]>>, tags: Tags) -> LoadTraffic {
        LoadTraffic { tags, ..LoadTraffic::from(Source::List(requests.into())) }
    }

    /// A file, sent in turn and repeated from its start.
    pub fn file(file: TrafficFile) -> LoadTraffic {
        LoadTraffic::from(Source::File(Box::new(file)))
    }

    /// Whether each of the first [`EXAMINED`] requests closes its connection although `habits`
    /// would keep it. Then there is one connection per request. `false` for a pipe, and for a file
    /// that cannot be read.
    pub fn ends_connections(&self, habits: Habits) -> bool {
        match &self.source {
            _ if habits.connection == ConnectionHabit::PerRequest => false,
            Source::List(list) => list.iter().take(EXAMINED).all(|request| request.closes),
            Source::File(file) => read::ends_connections(file, habits).unwrap_or(false),
        }
    }

    /// Whether the load may end before its schedule, once everything was sent.
    pub fn ends(&self) -> bool {
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Memory; never empty.
    List(Arc<[Request]>),
    /// A file.
    File(Box<TrafficFile>),
}

/// A file of requests. As data it is the file's path, not its content: whoever reads this needs the
/// file at the same path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrafficFile {
    /// Its path. A file that is not regular (a pipe) can be read only once.
    pub path: PathBuf,
    /// Its format; `None`: detected from the beginning of the file.
    pub format: Option<Format>,
    /// Headers for each request that has no header of that name. Not for [`Format::Request`], whose
    /// requests are sent unchanged.
    pub headers: Vec<Header>,
    /// What is taken of an access log. With a format of its lines, the file is
    /// [`Format::AccessLog`] unless `format` is another.
    pub log: LogSelection,
    /// A file with values of the variables in the requests: an environment of Postman, or an object
    /// of names and values.
    pub environment: Option<PathBuf>,
    /// Host whose requests are taken from a recording. `None`: the `Host` of `headers` where the
    /// recording has it, otherwise that of most requests.
    pub site: Option<String>,
    /// `Some`: requests are FastCGI requests for this script. Raw HTTP requests are then invalid
    /// entries.
    pub script: Option<Script>,
    /// Where the files are that its entries name.
    pub others: OtherFiles,
}

/// Where the files are that the entries of a file name as their bodies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OtherFiles {
    /// Beside the file, or else in the current directory, where the tool was started that it was
    /// written for.
    #[default]
    Beside,
    /// Copies on another machine, by what the entries call them. No other file is read.
    Copies(BTreeMap<String, PathBuf>),
}

impl TrafficFile {
    /// The file at `path`, whose format is detected.
    pub fn new(path: impl Into<PathBuf>) -> TrafficFile {
        TrafficFile {
            path: path.into(),
            format: None,
            headers: Vec::new(),
            log: LogSelection::default(),
            environment: None,
            site: None,
            script: None,
            others: OtherFiles::Beside,
        }
    }

    /// The paths of all files that belong to it.
    pub fn paths_mut(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        let copies = match &mut self.others {
            OtherFiles::Beside => None,
            OtherFiles::Copies(copies) => Some(copies.values_mut()),
        };
        [Some(&mut self.path), self.environment.as_mut()]
            .into_iter()
            .flatten()
            .chain(copies.into_iter().flatten())
    }
}

/// Order of the requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// As written, over all load threads together: whichever thread sends next takes the next one.
    InTurn,
    /// Shuffled, differently in each pass, each request once per pass. If they do not fit into
    /// memory, only requests that are near each other are swapped
    /// ([`TrafficNotes::shuffled_within`]).
    Random {
        /// Seed of the random number generator.
        seed: u64,
    },
}

/// How often all requests are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Passes {
    /// For as long as the load lasts.
    Endless,
    /// This many times, 1 or more; the load is over then.
    Times(u64),
}

/// What was read from a file; all empty for a list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrafficNotes {
    /// Name of the file's format.
    pub format: Option<String>,
    /// Requests read in the first pass.
    pub requests: u64,
    /// Valid entries of the first pass that are not sent, by reason.
    #[serde(with = "skipped")]
    pub skipped: BTreeMap<Skip, u64>,
    /// Entries of the first pass that are no valid request.
    pub broken: u64,
    /// The first of these: its line, and what is wrong with it.
    pub broken_first: Option<(u64, EntryError)>,
    /// Why reading failed before the end; the load was over then.
    pub failed: Option<ReadFailure>,
    /// A host in the URLs of the file's beginning that differs from the target's. It is sent as
    /// their `Host`, but the requests go to the target all the same.
    pub other_host: Option<String>,
    /// The first variable without a value at the begin of a URL. The target stands for it.
    #[serde(default)]
    pub target_variable: Option<String>,
    /// Headers of the first requests that no client can send and that were left out, by name.
    #[serde(default)]
    pub left_out_headers: BTreeMap<String, u64>,
    /// About how many requests are shuffled among each other; `None`: all of them.
    pub shuffled_within: Option<u64>,
}

impl TrafficNotes {
    pub(crate) fn skip(&mut self, why: Skip) {
        let known = self.skipped.len() < REASONS_MAX || self.skipped.contains_key(&why);
        *self.skipped.entry(if known { why } else { Skip::Other {} }).or_default() += 1;
    }

    pub(crate) fn add_broken(&mut self, broken: &input::Broken) {
        self.broken += 1;
        self.broken_first.get_or_insert_with(|| (broken.line, broken.what.clone()));
    }
}

/// Most reasons that are counted separately. Methods of an access log can be anything.
const REASONS_MAX: usize = 16;

/// Number of requests that are examined to find out whether connections are kept.
pub const EXAMINED: usize = 100;
