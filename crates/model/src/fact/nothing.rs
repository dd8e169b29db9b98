//! A load without a single correct answer: how far it got, and why.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::entry::{EntryError, ReadFailure};
use crate::failure::{self, FailureKind, Net};
use crate::words;

/// The reason why a load has no correct answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Nothing {
    /// How far the load got.
    pub kind: Kind,
    /// Where the requests were sent: an address and port, or the path of a socket.
    pub target: String,
    /// The most frequent kinds of failure.
    pub failures: Vec<FailedRequests>,
    /// Number of requests that failed in other ways.
    pub others: u64,
    /// Number of requests that were never sent.
    pub dropped: u64,
    /// The problem with the request file. Null: it has requests.
    pub file: Option<NoRequest>,
}

/// How far a load without a correct answer got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// No request was sent: the request file has none.
    Unsent,
    /// Requests were sent, but no complete answer arrived.
    Unanswered,
    /// Answers arrived, and all of them were wrong.
    Incorrect,
}

/// Requests that failed in the same way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FailedRequests {
    /// The kind of failure, as in `counts`.
    pub kind: String,
    /// Number of requests.
    pub requests: u64,
    /// Whether the protocol was FastCGI.
    pub is_fastcgi: bool,
    /// What the first of them got as its answer, as in `examples`. Null: not known.
    pub found: Option<String>,
    /// Where the first of them was redirected to. Null: it was not redirected.
    pub location: Option<String>,
}

/// The reason why a request file has no request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoRequest {
    /// The file could not be read.
    Failed(ReadFailure),
    /// The first entry is not a valid request.
    Broken {
        /// The line of the entry, counted from 1.
        line: u64,
        /// The error in the entry.
        error: EntryError,
    },
}

impl fmt::Display for Nothing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            Kind::Unsent => "no request was sent: the request file has none: ",
            Kind::Unanswered => "no request was answered: ",
            Kind::Incorrect => "no request was answered correctly: ",
        })?;
        if let Some(file) = &self.file {
            return file.fmt(f);
        }
        let each = self.failures.iter().map(|seen| {
            format!("{} × {}", words::count(seen.requests), seen.in_words(&self.target))
        });
        let mut all: Vec<String> = each.collect();
        if self.others > 0 {
            all.push(format!("{} failed in other ways", words::count(self.others)));
        }
        if self.dropped > 0 {
            all.push(format!("{} dropped before they were sent", words::count(self.dropped)));
        }
        f.write_str(&all.join(", "))
    }
}

impl fmt::Display for NoRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoRequest::Failed(failure) => failure.fmt(f),
            NoRequest::Broken { line, error } => write!(f, "line {line}: {error}"),
        }
    }
}

impl FailedRequests {
    fn in_words(&self, target: &str) -> String {
        let read = FailureKind::of(&self.kind);
        let meant = match read {
            FailureKind::Net(Net::Refused) => format!("connection refused by {target}"),
            FailureKind::Net(Net::Reset) => format!("connection reset by {target}"),
            FailureKind::Net(Net::Malformed) if self.is_fastcgi => "not valid FastCGI".to_owned(),
            FailureKind::Net(Net::Malformed) => "not valid HTTP".to_owned(),
            _ => self.found.clone().or_else(|| failure::meaning(&self.kind)).unwrap_or_default(),
        };
        let to = match &self.location {
            Some(to) if read.is_redirect() => format!(", Location: {to}"),
            _ => String::new(),
        };
        match meant.as_str() {
            "" => self.kind.clone(),
            meant => format!("{meant} ({}{to})", self.kind),
        }
    }
}
