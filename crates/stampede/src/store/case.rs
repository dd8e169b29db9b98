//! A case as it is on disk: what is sent, at what.

use super::unknown::or_none;
use crate::fact::{Fact, Reason};
use std::fmt;

use serde::{Deserialize, Serialize};
use stampede_load::schedule::{Segments, Written};
use stampede_load::spec::{Arrivals, Model, Until};
use stampede_load::time::Nanos;

/// One case of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CaseRecord {
    /// Runtime's or variant's name.
    pub runtime: String,
    /// App's name.
    pub app: String,
    /// Load's name.
    pub load: String,
    /// Open or closed.
    pub model: LoadModel,
    /// Schedule or users in words: `const(200,60s)`, `50 users for 60s`.
    pub load_text: String,
    /// The schedule; `None`: the model is closed, or a later version wrote what is not known here.
    #[serde(default, deserialize_with = "or_none", skip_serializing_if = "Option::is_none")]
    pub schedule: Option<Segments>,
    /// Users and their end; `None`: the model is open, or an earlier version wrote it as text
    /// alone.
    #[serde(default, deserialize_with = "or_none", skip_serializing_if = "Option::is_none")]
    pub closed: Option<Closed>,
    /// Why it is not measured at all; `None`: it is.
    pub refused: Option<Fact<Reason>>,
    /// What is sent to what; `None`: an earlier version did not write it down.
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "fired")]
    pub sent: Option<SentRecord>,
}

impl CaseRecord {
    /// Runs of before have the load as text alone.
    pub(super) fn read_load(&mut self) {
        match self.model {
            LoadModel::Open if self.schedule.is_none() => {
                self.schedule = Segments::parse(&self.load_text).ok();
            }
            LoadModel::Closed if self.closed.is_none() => {
                self.closed = Closed::parse(&self.load_text);
            }
            _ => {}
        }
    }

    /// The load's shape, whatever the load is called; `None`: it is not known.
    pub fn shape(&self) -> Option<LoadShape> {
        let open = self.schedule.clone().map(LoadShape::Open);
        open.or_else(|| self.closed.map(LoadShape::Closed))
    }
}

/// What a load does over time: two are the same load where this is the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LoadShape {
    /// By a schedule.
    Open(Segments),
    /// The next request follows each answer.
    Closed(Closed),
}

/// A closed load. It ends after a length, after a number of requests, or with its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closed {
    /// Requests at a time.
    #[serde(alias = "users")]
    pub concurrency: u32,
    /// How long it sends; null: something else ends it.
    pub length_ns: Option<u64>,
    /// How many requests it sends; null: something else ends it.
    pub requests: Option<u64>,
}

impl Closed {
    /// What a load is called that has no name: `8 at a time 10s`.
    pub fn name(&self) -> String {
        let Closed { concurrency, length_ns, requests } = self;
        let end = match (length_ns, requests) {
            (Some(length), _) => format!(" {}", Written(Nanos(*length))),
            (None, Some(requests)) => format!(" {requests} requests"),
            (None, None) => String::new(),
        };
        format!("{concurrency} at a time{end}")
    }

    /// Of a load; `None`: its model is open.
    pub fn of(model: &Model) -> Option<Closed> {
        let Model::Closed { concurrency, until } = model else { return None };
        let (length_ns, requests) = match until {
            Until::For(length) => (Some(length.0), None),
            Until::Requests(u64::MAX) => (None, None),
            Until::Requests(requests) => (None, Some(*requests)),
        };
        Some(Closed { concurrency: *concurrency, length_ns, requests })
    }

    /// Of the text, which runs of before have alone: `4 users for 10 s`, `1 user, 1 200 requests`, `8 at a time, no
    /// pause, for 10 s`.
    pub fn parse(text: &str) -> Option<Closed> {
        let digits = |text: &str| -> Option<u64> {
            let blanks: &[char] = &[' ', '\u{202f}', '\u{a0}'];
            text.replace(blanks, "").parse().ok()
        };
        let parts = ["s", ""].iter().find_map(|plural| text.split_once(&format!(" user{plural}")));
        let (concurrency, end) = text.split_once(" at a time, no pause").or(parts)?;
        let concurrency = u32::try_from(digits(concurrency)?).ok()?;
        let end = end.trim_start_matches([',', ' ']);
        if let Some(length) = end.strip_prefix("for ") {
            let seconds: f64 = length.strip_suffix('s')?.trim_end().parse().ok()?;
            let length_ns = Some((seconds * 1e9).round() as u64);
            return Some(Closed { concurrency, length_ns, requests: None });
        }
        let requests = match end.split_once(" request") {
            Some((requests, _)) => digits(requests),
            None => None,
        };
        Some(Closed { concurrency, length_ns: None, requests })
    }
}

/// What a case's requests ask of what: what names and schedules do not tell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentRecord {
    /// What the app is written for: `script`, `symfony` …; its framework's version is among the
    /// runtime's versions.
    pub app_kind: String,
    /// `GET /?ms=10`, or how many requests and the hash of all; secrets masked.
    pub requests: String,
    /// How arrivals spread; `None`: the model is closed, or a later version wrote what is not known
    /// here.
    #[serde(default, deserialize_with = "or_none")]
    pub arrivals: Option<Spread>,
}

/// Open or closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LoadModel {
    /// Requests are due whether or not earlier ones were answered: response time exists.
    Open,
    /// Each user sends the next request after its answer: only service time exists.
    Closed,
}

impl From<&Model> for LoadModel {
    fn from(model: &Model) -> LoadModel {
        match model {
            Model::Open { .. } => LoadModel::Open,
            Model::Closed { .. } => LoadModel::Closed,
        }
    }
}

/// How arrivals spread around the offered rate. Not the seed: it decides which requests, not how
/// they spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Spread {
    /// Evenly.
    Uniform,
    /// With independent gaps.
    Poisson,
}

impl Spread {
    /// Of a load; `None`: its model is closed.
    pub fn of(model: &Model) -> Option<Spread> {
        match model {
            Model::Open { arrivals: Arrivals::Uniform, .. } => Some(Spread::Uniform),
            Model::Open { arrivals: Arrivals::Poisson { .. }, .. } => Some(Spread::Poisson),
            Model::Closed { .. } => None,
        }
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Spread::Uniform => "uniform",
            Spread::Poisson => "poisson",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_load_of_before_is_known_by_its_text() {
        let closed =
            |concurrency, length_ns, requests| Some(Closed { concurrency, length_ns, requests });
        for (text, expected) in [
            ("4 users for 10s", closed(4, Some(10_000_000_000), None)),
            ("1 user for 0.5 s", closed(1, Some(500_000_000), None)),
            ("16 users, 1\u{202f}200 requests", closed(16, None, Some(1_200))),
            ("1 user, 1 request", closed(1, None, Some(1))),
            ("2 users until the ammo is over", closed(2, None, None)),
            ("8 at a time, no pause, for 10 s", closed(8, Some(10_000_000_000), None)),
            ("8 at a time, no pause, 1 request", closed(8, None, Some(1))),
            ("8 at a time, no pause, to the end of the request file", closed(8, None, None)),
            ("const(200,60s)", None),
            ("many users for 1 s", None),
        ] {
            assert_eq!(Closed::parse(text), expected, "{text}");
        }
    }
}
