//! Keeps the first failed answer of each kind as an example.

use serde::{Deserialize, Serialize};
use stampede_model::time::Nanos;

use crate::check::Check;
use crate::outcome::Outcome;
use stampede_traffic::answer::Excerpt;
use stampede_traffic::line::RequestLine;
use stampede_traffic::tag::Tag;

/// One failed answer. Head and body are bytes of a server. Code that prints them must remove
/// control characters, and code that stores them must mask secrets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Example {
    /// Its kind, a key of `Counts::failed`.
    pub kind: String,
    /// When it ended, since the start of the load.
    #[serde(rename = "at_ns")]
    pub at: Nanos,
    /// Method and path of its request, cut where they are long.
    #[serde(default)]
    pub request: String,
    /// The tag of its request; `LoadTraffic` has the names.
    pub tag: Tag,
    /// done − started.
    #[serde(rename = "service_time_ns")]
    pub service_time: Nanos,
    /// Its status; `None` where no complete head was received.
    pub status: Option<u16>,
    /// Its head, at most 4 KiB, or what was received instead of one. Empty where nothing was
    /// received. Also empty where too many answers arrived in pieces at once to keep this one.
    #[serde(with = "stampede_traffic::base64_bytes")]
    pub head: Vec<u8>,
    /// The beginning of its body without framing, at most 2 KiB.
    #[serde(with = "stampede_traffic::base64_bytes")]
    pub body: Vec<u8>,
    /// What was found instead of a correct answer, in words, without control characters.
    pub found: String,
}

/// Correct answers whose bodies are far shorter or longer than before the load.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnusualLengths {
    /// How many there were.
    pub answers: u64,
    /// The first of them.
    pub first: Option<UnusualLength>,
}

/// A correct answer with a body of another length.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnusualLength {
    /// When it ended, since the start of the load.
    #[serde(rename = "at_ns")]
    pub at: Nanos,
    /// Method and path of its request, cut where they are long.
    pub request: String,
    /// Bytes of its body.
    pub body_bytes: u64,
}

impl UnusualLengths {
    /// Counts an answer. Allocates, but only for the first one.
    #[cold]
    pub(crate) fn count(&mut self, line: &RequestLine, at: Nanos, body_bytes: u64) {
        self.answers += 1;
        self.first.get_or_insert_with(|| UnusualLength { at, request: line.text(), body_bytes });
    }

    /// Adds what another thread counted.
    pub(crate) fn add(&mut self, more: &UnusualLengths) {
        self.answers += more.answers;
        let firsts = [self.first.take(), more.first.clone()].into_iter().flatten();
        self.first = firsts.min_by_key(|first| first.at);
    }
}

/// The first failures of a load thread.
#[derive(Debug, Default)]
pub(crate) struct Examples {
    all: Vec<(Outcome, Example)>,
}

impl Examples {
    /// Whether `outcome` is a kind of failure that has no example yet.
    pub(crate) fn is_missing(&self, outcome: Outcome) -> bool {
        outcome != Outcome::Ok
            && self.all.len() < KINDS_MAX
            && self.all.iter().all(|(known, _)| *known != outcome)
    }

    /// Keeps an example. Allocates, but only once per kind.
    #[cold]
    pub(crate) fn add(
        &mut self,
        outcome: Outcome,
        check: &Check,
        (request, tag): (&RequestLine, Tag),
        at: Nanos,
        service_time: Nanos,
        excerpt: Excerpt,
    ) {
        let kind = outcome.key(check);
        let Excerpt { status, head, body, mut found } = excerpt;
        if found.is_empty() {
            found = outcome.words(check, service_time);
        }
        let request = request.text();
        let example = Example { kind, at, request, tag, service_time, status, head, body, found };
        self.all.push((outcome, example));
    }

    pub(crate) fn into_list(self) -> Vec<Example> {
        self.all.into_iter().map(|(_, example)| example).collect()
    }
}

/// The first example of each kind over all threads, in order of time.
pub(crate) fn merged<'a>(threads: impl Iterator<Item = &'a Example>) -> Vec<Example> {
    let mut all: Vec<&Example> = threads.collect();
    all.sort_by_key(|example| example.at);
    let mut merged: Vec<Example> = Vec::new();
    for example in all {
        if merged.iter().all(|known| known.kind != example.kind) {
            merged.push(example.clone());
        }
    }
    merged
}

/// Most kinds of which a load thread keeps an example. All of them fit, unless a server answers
/// with random statuses.
const KINDS_MAX: usize = 64;
