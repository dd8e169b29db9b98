//! A load without one correct answer: how far it came, and why.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stampede_load::outcome::{self, FailureKind, Net};
use stampede_load::traffic::{EntryError, ReadFailure};

use crate::summary::words;

/// Why a load has no correct answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Nothing {
    /// How far it came.
    pub kind: Kind,
    /// Where the requests went: address and port, or the path of a socket.
    pub target: String,
    /// The commonest kinds of failure.
    pub failures: Vec<Seen>,
    /// Requests that failed in other ways.
    pub others: u64,
    /// Requests that were never sent.
    pub dropped: u64,
    /// What is wrong with the request file; null: it has requests.
    pub file: Option<NoRequest>,
}

/// How far a load came that has no correct answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The request file held no request.
    Unsent,
    /// There was no whole answer.
    Unanswered,
    /// There were answers, each of them wrong.
    Incorrect,
}

/// Requests that failed alike.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Seen {
    /// As in `counts`.
    pub kind: String,
    /// How many.
    pub requests: u64,
    /// Whether FastCGI was spoken.
    pub is_fastcgi: bool,
    /// What the first of them was answered, as in `examples`; null: it is not known.
    pub found: Option<String>,
    /// Where the first of them was redirected to; null: nowhere.
    pub location: Option<String>,
}

/// Why a request file has no request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoRequest {
    /// It could not be read.
    Failed(ReadFailure),
    /// Its first entry.
    Broken {
        /// Its line, 1 for the first.
        line: u64,
        /// What is wrong with it.
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

impl Seen {
    fn in_words(&self, target: &str) -> String {
        let read = FailureKind::of(&self.kind);
        let meant = match read {
            FailureKind::Net(Net::Refused) => format!("connection refused by {target}"),
            FailureKind::Net(Net::Reset) => format!("connection reset by {target}"),
            FailureKind::Net(Net::Malformed) if self.is_fastcgi => "not valid FastCGI".to_owned(),
            FailureKind::Net(Net::Malformed) => "not valid HTTP".to_owned(),
            _ => self.found.clone().or_else(|| outcome::meaning(&self.kind)).unwrap_or_default(),
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
