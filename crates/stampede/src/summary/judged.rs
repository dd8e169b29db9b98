//! How an expectation of a case came out.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::plan::model::Bound;

/// An expectation, judged for a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// As written in the plan.
    pub text: String,
    /// What it says; `None`: a later version wrote it, and it cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<Bound>,
    /// How it came out.
    #[serde(flatten)]
    pub outcome: Expected,
}

impl Judged {
    /// Whether it is about the change against another run (`worse`): not for one run to answer.
    pub fn is_about_another_run(&self) -> bool {
        self.bound.is_some_and(|bound| bound.worse)
    }
}

/// How an expectation came out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Expected {
    /// It holds.
    Met,
    /// It does not.
    NotMet {
        /// What was found instead.
        figure: Found,
    },
    /// Cannot be said: too few requests, a lower bound only, or it needs another run.
    Unknown {
        /// What is known of the figure; none: nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        figure: Option<Found>,
    },
}

/// What was found of a figure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Found {
    /// A request without a correct answer stands there.
    Failed,
    /// Its value, for people.
    Value(String),
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Found::Failed => f.write_str(FAILED),
            Found::Value(text) => f.write_str(text),
        }
    }
}

impl From<Found> for String {
    fn from(found: Found) -> String {
        found.to_string()
    }
}

/// As it stands in JSON.
impl From<String> for Found {
    fn from(text: String) -> Found {
        if text == FAILED { Found::Failed } else { Found::Value(text) }
    }
}

const FAILED: &str = "failed";
