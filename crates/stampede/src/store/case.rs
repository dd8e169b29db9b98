//! A case as it is on disk: what is sent, at what.

use crate::fact::{Fact, Reason};
use std::fmt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use stampede_load::schedule::Segments;
use stampede_load::spec::{Arrivals, Model};

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
    /// Why it is not measured at all; `None`: it is.
    pub refused: Option<Fact<Reason>>,
    /// What is sent to what; `None`: an earlier version did not write it down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<SentRecord>,
}

impl CaseRecord {
    /// Runs of before have a schedule as text alone.
    pub(super) fn read_schedule(&mut self) {
        if self.model == LoadModel::Open && self.schedule.is_none() {
            self.schedule = Segments::parse(&self.load_text).ok();
        }
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
    /// How arrivals spread; `None`: the model is closed.
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

/// What a later version wrote and is not known here is no reason not to read the rest.
fn or_none<'de, T: DeserializeOwned, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    Ok(serde_json::from_value(Value::deserialize(deserializer)?).ok())
}
