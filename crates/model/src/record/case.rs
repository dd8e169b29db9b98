//! The record of a case on disk: runtime, app, load, and the requests.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::unknown::or_none;
use crate::fact::{Fact, Reason};
use crate::load::{Arrivals, Model, Until};
use crate::quantity::LengthText;
use crate::schedule::Segments;
use crate::time::Nanos;

/// A case of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CaseRecord {
    /// Name of the runtime or variant.
    pub runtime: String,
    /// Name of the app.
    pub app: String,
    /// Name of the load.
    pub load: String,
    /// Whether the load's model is open or closed.
    pub model: LoadModel,
    /// The load in words: `const(200,60s)`, `50 users for 60s`.
    pub load_text: String,
    /// The schedule; `None`: the model is closed, or a later version wrote a schedule that is
    /// unknown here.
    #[serde(default, deserialize_with = "or_none", skip_serializing_if = "Option::is_none")]
    pub schedule: Option<Segments>,
    /// Concurrency and end of a closed load; `None`: the model is open, or an earlier version wrote
    /// only the text.
    #[serde(default, deserialize_with = "or_none", skip_serializing_if = "Option::is_none")]
    pub closed: Option<Closed>,
    /// Why the case is not measured; `None`: it is measured.
    pub refused: Option<Fact<Reason>>,
    /// The requests and the kind of app; `None`: an earlier version did not record them.
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "fired")]
    pub sent: Option<SentRecord>,
}

impl CaseRecord {
    /// Fills in the load from its text. Earlier versions wrote only the text.
    pub fn read_load(&mut self) {
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

    /// The load's shape, whatever the load's name is; `None`: it is not known.
    pub fn shape(&self) -> Option<LoadShape> {
        let open = self.schedule.clone().map(LoadShape::Open);
        open.or_else(|| self.closed.map(LoadShape::Closed))
    }
}

/// What a load does over time. Two loads are the same if their shapes are equal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LoadShape {
    /// Requests follow a schedule.
    Open(Segments),
    /// Each next request is sent after an answer.
    Closed(Closed),
}

/// A closed load. It ends after a length, after a number of requests, or with its request file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Closed {
    /// Requests at a time.
    #[serde(alias = "users")]
    pub concurrency: u32,
    /// How long the load sends; null: something else ends it.
    pub length_ns: Option<u64>,
    /// How many requests the load sends; null: something else ends it.
    pub requests: Option<u64>,
}

impl Closed {
    /// The name for a load without one: `8 at a time 10s`.
    pub fn name(&self) -> String {
        let Closed { concurrency, length_ns, requests } = self;
        let end = match (length_ns, requests) {
            (Some(length), _) => format!(" {}", LengthText(Nanos(*length))),
            (None, Some(requests)) => format!(" {requests} requests"),
            (None, None) => String::new(),
        };
        format!("{concurrency} at a time{end}")
    }

    /// Describes a closed load; `None`: the model is open.
    pub fn of(model: &Model) -> Option<Closed> {
        let Model::Closed { concurrency, until } = model else { return None };
        let (length_ns, requests) = match until {
            Until::For(length) => (Some(length.0), None),
            Until::Requests(u64::MAX) => (None, None),
            Until::Requests(requests) => (None, Some(*requests)),
        };
        Some(Closed { concurrency: *concurrency, length_ns, requests })
    }

    /// Parses the text of a closed load, which is all that earlier versions wrote:
    /// `4 users for 10 s`, `1 user, 1 200 requests`, `8 at a time, no pause, for 10 s`.
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

/// What the requests of a case ask for, beyond names and schedules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentRecord {
    /// Kind of the app: `script`, `symfony` … The framework's version is among the runtime's
    /// versions.
    pub app_kind: String,
    /// The requests: `GET /?ms=10`, or their number and the hash of all. Secrets are masked.
    pub requests: String,
    /// How arrivals spread; `None`: the model is closed, or a later version wrote a spread that is
    /// unknown here.
    #[serde(default, deserialize_with = "or_none")]
    pub arrivals: Option<Spread>,
}

/// The model of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LoadModel {
    /// Requests are due whether or not earlier ones were answered. Only this model has response
    /// times.
    Open,
    /// Each next request is sent after an answer. Only service times exist.
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

/// How arrivals spread around the target rate. The seed does not belong here: it changes single
/// arrivals, but not their spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Spread {
    /// At even distances.
    Uniform,
    /// With independent random gaps.
    Poisson,
}

impl Spread {
    /// The spread of a load; `None`: its model is closed.
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
    fn the_text_of_a_closed_load_of_an_earlier_version_is_parsed() {
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
