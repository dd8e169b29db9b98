//! What a request file would send: its requests counted by method, host and path, and the first of
//! them. No value of a header is in it, since recordings have cookies and passwords.

use std::collections::HashMap;

use serde::Serialize;
use stampede_model::load::Habits;

use crate::read::{Entry, TrafficReader};
use crate::request::{Content, Request};
use crate::supply::{empty, read_failure_of};
use crate::{Tags, TrafficError, TrafficFile, TrafficNotes};

/// A request file, read once from its beginning to its end.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Overview {
    /// What was read, and why the rest was not.
    pub notes: TrafficNotes,
    /// Requests by method, most first.
    pub methods: Vec<Counted>,
    /// Requests by `Host`, most first. Empty name: the target's.
    pub hosts: Vec<Counted>,
    /// Requests by path without its query, most first.
    pub paths: Vec<Counted>,
    /// The first requests, in their order.
    pub first: Vec<Outline>,
}

/// How many requests have something in common.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Counted {
    /// What they have in common.
    pub name: String,
    /// How many they are.
    pub requests: u64,
}

/// One request, without its headers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Outline {
    /// The method.
    pub method: String,
    /// `Host`; empty: the target's.
    pub host: String,
    /// Path and query.
    pub path: String,
    /// Bytes of the body.
    pub body_bytes: u64,
    /// Its tag; empty: none.
    pub tag: String,
}

/// Reads the file once and calls `each` with every request and its tag. Entries that are no valid
/// request are counted. What was read is not kept, so a file of any size may be read.
///
/// # Errors
/// The file has no request, or cannot be read; or `each` failed.
pub fn read_each<E: From<TrafficError>>(
    file: &TrafficFile,
    habits: Habits,
    mut each: impl FnMut(&Request, &str) -> Result<(), E>,
) -> Result<TrafficNotes, E> {
    let tags = Tags::new();
    let mut reading = TrafficReader::of(file, habits, &tags)?;
    let format = Some(reading.format().name().to_owned());
    let mut notes = TrafficNotes { format, ..TrafficNotes::default() };
    let (mut request, mut first_broken) = (Request::default(), None);
    loop {
        match reading.next(&mut request) {
            Ok(Entry::Request) => {
                notes.requests += 1;
                each(&request, &tags.name(request.tag))?;
            }
            Ok(Entry::Skipped(reason)) => notes.skip(reason),
            Ok(Entry::Broken(broken)) => {
                notes.add_broken(&broken);
                first_broken.get_or_insert(broken);
            }
            Ok(Entry::End) => break,
            Err(error) => {
                notes.failed = Some(read_failure_of(file.path.clone(), &error));
                break;
            }
        }
    }
    reading.tell(&mut notes);
    match first_broken {
        _ if notes.requests > 0 || notes.failed.is_some() => Ok(notes),
        Some(broken) => {
            let (path, line, what, hint) =
                (file.path.clone(), broken.line, broken.what, broken.hint);
            Err(TrafficError::Broken { path, line, what, hint }.into())
        }
        None => Err(empty(file, &notes).into()),
    }
}

/// Counts what is in a file while it is read.
#[derive(Debug, Default)]
pub struct Counts {
    methods: HashMap<String, u64>,
    hosts: HashMap<String, u64>,
    paths: HashMap<String, u64>,
    first: Vec<Outline>,
}

impl Counts {
    /// Counts a request.
    pub fn add(&mut self, request: &Request, tag: &str) {
        let outline = Outline::of(request, tag);
        let path = outline.path.split('?').next().unwrap_or_default();
        count(&mut self.methods, &outline.method);
        count(&mut self.hosts, &outline.host);
        count(&mut self.paths, path);
        if self.first.len() < FIRST {
            self.first.push(outline);
        }
    }

    /// The overview of what was counted.
    pub fn overview(self, notes: TrafficNotes) -> Overview {
        let Counts { methods, hosts, paths, first } = self;
        Overview { notes, methods: most(methods), hosts: most(hosts), paths: most(paths), first }
    }
}

impl Outline {
    /// The outline of a request with this tag.
    fn of(request: &Request, tag: &str) -> Outline {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let tag = tag.to_owned();
        match request.content() {
            Content::Message(message) => {
                let mut given = message.given();
                let host = given.find(|(name, _)| name.eq_ignore_ascii_case(b"host"));
                Outline {
                    method: text(message.method),
                    host: host.map(|(_, value)| text(value)).unwrap_or_default(),
                    path: text(message.path),
                    body_bytes: message.body.len() as u64,
                    tag,
                }
            }
            Content::Encoded(bytes) => Outline::of_bytes(bytes, tag),
        }
    }

    /// The outline of a request that is sent unchanged.
    fn of_bytes(bytes: &[u8], tag: String) -> Outline {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or(bytes.len());
        let head = String::from_utf8_lossy(&bytes[..end]);
        let mut lines = head.lines();
        let mut words = lines.next().unwrap_or_default().split(' ');
        let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let host = lines.find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("host").then(|| value.trim().to_owned())
        });
        let body_bytes = bytes.len().saturating_sub(end + 4) as u64;
        let host = host.unwrap_or_default();
        Outline { method: method.to_owned(), host, path: path.to_owned(), body_bytes, tag }
    }
}

fn count(counts: &mut HashMap<String, u64>, name: &str) {
    if let Some(known) = counts.get_mut(name) {
        *known += 1;
    } else if counts.len() < NAMES_MAX {
        counts.insert(name.to_owned(), 1);
    } else {
        *counts.entry(OTHERS.to_owned()).or_default() += 1;
    }
}

/// The names with most requests, most first.
fn most(counts: HashMap<String, u64>) -> Vec<Counted> {
    let mut all: Vec<Counted> =
        counts.into_iter().map(|(name, requests)| Counted { name, requests }).collect();
    all.sort_by(|one, other| other.requests.cmp(&one.requests).then(one.name.cmp(&other.name)));
    all
}

/// Requests that are shown one by one.
const FIRST: usize = 10;
/// Most names that are counted separately. Paths of a shop can be many; what matters is at the top.
const NAMES_MAX: usize = 100_000;
/// All names beyond these.
const OTHERS: &str = "(others)";

#[cfg(test)]
mod tests {
    use stampede_model::load::{ConnectionHabit, HttpVersion};

    use super::*;

    #[test]
    fn requests_are_counted_by_what_they_have_in_common() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("list");
        std::fs::write(&path, "/a?x=1\nhttp://b.test/a?x=2\n/b tag\n/c d e\n").unwrap();
        let habits =
            Habits { version: HttpVersion::Http11, connection: ConnectionHabit::KeepAlive };
        let mut counts = Counts::default();
        let file = TrafficFile { format: Some(crate::Format::Uri), ..TrafficFile::new(&path) };
        let notes = read_each(&file, habits, |request, tag| {
            counts.add(request, tag);
            Ok::<(), TrafficError>(())
        });
        let overview = counts.overview(notes.unwrap());
        let pairs = |list: &[Counted]| {
            list.iter().map(|one| (one.name.clone(), one.requests)).collect::<Vec<_>>()
        };
        let named = |name: &str, requests| (name.to_owned(), requests);
        assert_eq!(pairs(&overview.methods), [named("GET", 3)]);
        assert_eq!(pairs(&overview.hosts), [named("", 2), named("b.test", 1)]);
        assert_eq!(pairs(&overview.paths), [named("/a", 2), named("/b", 1)]);
        assert_eq!((overview.notes.broken, overview.first[2].tag.as_str()), (1, "tag"));
    }

    #[test]
    fn a_request_that_is_sent_unchanged_has_an_outline() {
        let bytes = b"POST /a?b HTTP/1.1\r\nhost: c.test\r\nContent-Length: 2\r\n\r\nhi";
        let outline = Outline::of(&Request::encoded(bytes), "");
        let parts = (outline.method.as_str(), outline.host.as_str(), outline.path.as_str());
        assert_eq!((parts, outline.body_bytes), (("POST", "c.test", "/a?b"), 2));
    }
}
